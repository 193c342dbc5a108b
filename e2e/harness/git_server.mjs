// This checkout as a repository that can be cloned over HTTP, including uncommitted changes.

import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';

import { checkout } from './places.mjs';

/**
 * @param {string} name of the repository
 * @returns {Promise<{ url: string, revision: string, files: string[], close: () => void }>}
 */
export async function serveCheckout(name) {
    const root = fs.mkdtempSync(path.join(fs.realpathSync(os.tmpdir()), 'forklore-git-'));
    const { revision, files } = repository(path.join(root, `${name}.git`), path.join(root, 'tree'));
    const server = http.createServer((request, response) => answer(root, request, response));
    server.unref();
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    return {
        url: `http://127.0.0.1:${server.address().port}/${name}.git`,
        revision,
        files,
        close: () => {
            server.close();
            fs.rmSync(root, { recursive: true, force: true });
        },
    };
}

/** A commit with everything in the working tree. */
function repository(bare, tree) {
    const listed = git(checkout, 'ls-files', '-z', '--cached', '--others', '--exclude-standard').split('\0').filter(Boolean);
    const files = [...new Set(listed)].filter((file) => fs.existsSync(path.join(checkout, file)));
    for (const file of files) {
        fs.mkdirSync(path.dirname(path.join(tree, file)), { recursive: true });
        fs.copyFileSync(path.join(checkout, file), path.join(tree, file));
    }
    git(tree, 'init', '--quiet', '--initial-branch=main');
    git(tree, 'add', '--all');
    git(tree, '-c', 'user.name=Forklore', '-c', 'user.email=none', 'commit', '--quiet', '--message=as it is');
    git(tree, 'clone', '--quiet', '--bare', tree, bare);
    return { revision: git(tree, 'rev-parse', 'HEAD').trim(), files };
}

function git(folder, ...command) {
    // Nothing of the user who runs the tests: no hooks, no signatures.
    const env = { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' };
    return execFileSync('git', ['-C', folder, ...command], { encoding: 'utf8', env });
}

/** A shallow clone needs git's own protocol, so static files are not enough. */
function answer(root, request, response) {
    const { pathname, search } = new URL(request.url, 'http://127.0.0.1');
    const backend = spawn('git', ['http-backend'], {
        env: {
            PATH: process.env.PATH,
            GIT_CONFIG_GLOBAL: '/dev/null',
            GIT_PROJECT_ROOT: root,
            GIT_HTTP_EXPORT_ALL: '1',
            GIT_PROTOCOL: request.headers['git-protocol'] ?? '',
            REQUEST_METHOD: request.method,
            PATH_INFO: pathname,
            QUERY_STRING: search.slice(1),
            CONTENT_TYPE: request.headers['content-type'] ?? '',
            HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
            REMOTE_ADDR: '127.0.0.1',
        },
        stdio: ['pipe', 'pipe', 'inherit'],
    });
    request.pipe(backend.stdin);
    const parts = [];
    backend.stdout.on('data', (part) => parts.push(part));
    backend.on('close', () => {
        const whole = Buffer.concat(parts);
        const end = whole.indexOf('\r\n\r\n');
        const headers = whole.subarray(0, Math.max(end, 0)).toString('latin1').split('\r\n')
            .map((line) => /^([^:]+):\s*(.*)$/.exec(line)).filter(Boolean).map(([, name, value]) => [name.toLowerCase(), value]);
        const { status = '200', ...rest } = Object.fromEntries(headers);
        response.writeHead(end < 0 ? 500 : Number.parseInt(status, 10), rest).end(whole.subarray(end + 4));
    });
}
