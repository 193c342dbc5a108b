// A real SillyTavern on loopback, with its own data root.

import { spawn } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { install } from './places.mjs';
import { config, hasForklore, seed } from './seed.mjs';
import { until } from './until.mjs';

/** In milliseconds: a cold start on a busy machine has taken two minutes. */
const START_LIMIT = 300_000;
const STOP_LIMIT = 10_000;
const LIFELINE = fileURLToPath(new URL('./lifeline.cjs', import.meta.url));

// Makes exit handlers run in this case, too.
for (const [signal, number] of [['SIGHUP', 1], ['SIGINT', 2], ['SIGTERM', 15]]) {
    process.once(signal, () => process.exit(128 + number));
}

export class SillyTavern {
    /** Whether this process uses the server in `FORKLORE_SERVER`. */
    static #isBorrowing = false;

    /**
     * Starts one, or borrows the one whose `lend()` is in `FORKLORE_SERVER`, with new data, because a start takes eight
     * seconds of processor time.
     *
     * @param {import('./seed.mjs').ServerOptions} [options]
     */
    static async start(options = {}) {
        const { FORKLORE_SERVER: lent } = process.env;
        if (lent && !this.#isBorrowing && config(0, options) === config(0, {})) {
            this.#isBorrowing = true;
            const { port, desk } = JSON.parse(lent);
            const server = new SillyTavern(port, options, desk);
            await server.#ready();
            return server;
        }
        const turn = await takeTurn();
        try {
            // It binds its port seconds after we chose it, so another process may have taken it by then.
            for (let attempt = 0; attempt < 3; attempt += 1) {
                const server = new SillyTavern(await freePort(), options);
                try {
                    await server.#ready();
                    return server;
                } catch (error) {
                    const log = server.log();
                    await server.stop();
                    if (!log.includes('is already in use')) {
                        throw new Error(`${error.message}; its log ends with:\n${tail(log)}`);
                    }
                }
            }
            throw new Error('SillyTavern found its port taken three times');
        } finally {
            turn.end();
        }
    }

    #port;
    #desk;
    /** None if it is borrowed. @type {import('node:child_process').ChildProcess | undefined} */
    #child;
    #session;
    #ended = false;
    #onExit = () => this.#abandon();

    /** @param {string} [borrowed] the folder of the server to borrow */
    constructor(port, options, borrowed) {
        this.url = `http://127.0.0.1:${port}`;
        this.#port = port;
        this.#desk = borrowed ?? fs.mkdtempSync(path.join(fs.realpathSync(os.tmpdir()), 'forklore-e2e-'));
        this.requestCompression = options.requestCompression ?? false;
        this.dataRoot = path.join(this.#desk, 'data');
        /** The folder of the only user. */
        this.user = path.join(this.dataRoot, 'default-user');
        if (borrowed) {
            fs.rmSync(this.user, { recursive: true });
            fs.cpSync(this.#on('lent'), this.user, { recursive: true });
            seed(this.dataRoot, options);
        } else {
            try {
                seed(this.dataRoot, options);
                fs.writeFileSync(this.#on('config.yaml'), config(port, options));
            } catch (error) {
                fs.rmSync(this.#desk, { recursive: true });
                throw error;
            }
            this.#child = this.#spawn();
            process.on('exit', this.#onExit);
        }
        /** Whether the pages run Forklore, and not a stand-in. */
        this.hasForklore = hasForklore(this.user);
    }

    /** Lets other processes borrow it, one after the other. Nobody may have used it yet. @returns {string} for `FORKLORE_SERVER` */
    lend() {
        fs.cpSync(this.user, this.#on('lent'), { recursive: true });
        return JSON.stringify({ port: this.#port, desk: this.#desk });
    }

    /**
     * Posts JSON to one of SillyTavern's endpoints and throws unless it succeeds.
     *
     * @returns {Promise<any>} the answer, parsed if it is JSON
     */
    async post(endpoint, body = {}) {
        const response = await this.#session(endpoint, body).catch((error) => {
            // While gigabytes are being written, SillyTavern closes idle connections.
            if (error.cause?.code !== 'UND_ERR_SOCKET') {
                throw error;
            }
            return this.#session(endpoint, body);
        });
        const text = await response.text();
        if (!response.ok) {
            throw new Error(`SillyTavern refused ${endpoint} with ${response.status}: ${text}`);
        }
        return response.headers.get('content-type')?.includes('json') ? JSON.parse(text) : text;
    }

    /** Its output so far. */
    log() {
        return fs.existsSync(this.#on('log')) ? fs.readFileSync(this.#on('log'), 'utf8') : '';
    }

    /** Stops it like a service manager would, and removes its data. A borrowed one is given back. */
    async stop() {
        if (!this.#child) {
            SillyTavern.#isBorrowing = false;
            return;
        }
        if (!this.#ended) {
            const ended = new Promise((resolve) => this.#child.once('exit', resolve));
            const impatience = setTimeout(() => this.#child.kill('SIGKILL'), STOP_LIMIT);
            this.#child.kill('SIGTERM');
            await ended;
            clearTimeout(impatience);
        }
        process.off('exit', this.#onExit);
        fs.rmSync(this.#desk, { recursive: true, force: true });
    }

    #abandon() {
        this.#child.kill('SIGKILL');
        fs.rmSync(this.#desk, { recursive: true, force: true });
    }

    #on(name) {
        return path.join(this.#desk, name);
    }

    #spawn() {
        // These would override the config file.
        const environment = Object.entries(process.env).filter(([name]) => !name.startsWith('SILLYTAVERN_'));
        const log = fs.openSync(this.#on('log'), 'w');
        const child = spawn(
            process.execPath,
            [
                ...['--require', LIFELINE, path.join(install, 'server.js')],
                ...['--configPath', this.#on('config.yaml'), '--dataRoot', this.dataRoot],
            ],
            {
                cwd: install,
                stdio: ['pipe', log, log],
                // Inside a checkout, SillyTavern takes that checkout's revision for its own and recompiles after every
                // commit.
                env: { ...Object.fromEntries(environment), GIT_CEILING_DIRECTORIES: path.dirname(install) },
            },
        );
        fs.closeSync(log);
        child.once('exit', () => (this.#ended = true));
        return child;
    }

    /** Ready means that this very process listens: another SillyTavern on the port would answer as well. */
    async #ready() {
        this.#session = await until(
            'SillyTavern to start',
            () => this.#ended || (this.log().includes('SillyTavern is listening') && openSession(this.url)),
            { within: START_LIMIT, every: 50 },
        );
        if (this.#ended) {
            throw new Error(`SillyTavern ended while starting (${this.#child.exitCode ?? this.#child.signalCode})`);
        }
    }
}

/** One visitor: a token, and the cookies that it is bound to. */
async function openSession(url) {
    const response = await fetch(`${url}/csrf-token`);
    const cookie = response.headers
        .getSetCookie()
        .map((line) => line.split(';')[0])
        .join('; ');
    const { token } = await response.json();
    const headers = { cookie, 'x-csrf-token': token, 'content-type': 'application/json' };
    return (endpoint, body) => fetch(url + endpoint, { method: 'POST', headers, body: JSON.stringify(body) });
}

/**
 * One start at a time across all processes: two would compile into the same cache at once. The Rust tests use the same
 * lock; it ends with the input of the process that holds it.
 */
async function takeTurn() {
    const holder = spawn('flock', [path.join(install, '.start.lock'), 'sh', '-c', 'echo; exec cat'], {
        stdio: ['pipe', 'pipe', 'inherit'],
    });
    await new Promise((resolve, reject) => {
        holder.once('error', reject);
        holder.once('exit', (code) => reject(new Error(`flock ended with ${code}`)));
        holder.stdout.once('data', resolve);
    });
    return holder.stdin;
}

async function freePort() {
    const server = net.createServer();
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address();
    await new Promise((resolve) => server.close(resolve));
    return port;
}

function tail(log) {
    return log.split('\n').slice(-40).join('\n');
}
