#!/usr/bin/env node
// Starts the command for this system, which npm has put beside this package.
'use strict';

const { spawn } = require('node:child_process');
const os = require('node:os');

// On Android the command for Linux runs.
const system = process.platform === 'android' ? 'linux' : process.platform;
const name = `@forklore/${system}-${process.arch}`;
const program = process.platform === 'win32' ? 'forklore.exe' : 'forklore';

let path;
try {
    path = require.resolve(`${name}/${program}`);
} catch {
    console.error(`There is no Forklore for this system (${process.platform}, ${process.arch}), or npm has left it out:`);
    console.error(`"${name}" is missing. Install again without --omit=optional.`);
    process.exit(2);
}

const command = spawn(path, process.argv.slice(2), { stdio: 'inherit' });
// Ctrl-C reaches the command by itself; what is said to this process alone is said on.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => {
        if (signal !== 'SIGINT' || !process.stdin.isTTY) {
            command.kill(signal);
        }
    });
}
command.on('error', (error) => {
    console.error(`Forklore could not be started: ${error.message}`);
    process.exit(2);
});
command.on('exit', (code, signal) => {
    process.exit(code ?? 128 + (os.constants.signals[signal] ?? 0));
});
