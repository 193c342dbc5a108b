// A language model on loopback that says what the test tells it to, token by token, behind SillyTavern's real backend.

import http from 'node:http';

import { until } from './until.mjs';

export class FakeModel {
    /** Requests that have not been answered yet. @type {Reply[]} */
    #waiting = [];
    #answerTo;

    /** @param {(asked: any) => Promise<string | undefined> | string | undefined} [answerTo] see `start` */
    constructor(answerTo = () => undefined) {
        this.#answerTo = answerTo;
    }

    /**
     * Listens until the process ends.
     *
     * @param {ConstructorParameters<typeof FakeModel>[0]} [answerTo] the model's automatic answer to a
     *   request; a request without one waits for `asked`
     */
    static async start(answerTo) {
        const model = new FakeModel(answerTo);
        const server = http.createServer((request, response) => model.#answer(request, response));
        await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
        server.unref();
        model.url = `http://127.0.0.1:${server.address().port}/v1`;
        return model;
    }

    /** Changes a settings.json so that the page connects to this model when it loads. */
    connect(settings) {
        settings.main_api = 'openai';
        settings.power_user.auto_connect = true;
        // If words come faster than this, SillyTavern shows only some of them.
        settings.power_user.streaming_fps = 1000;
        Object.assign(settings.oai_settings, {
            chat_completion_source: 'custom',
            custom_url: this.url,
            custom_model: 'fake',
            stream_openai: true,
        });
    }

    /** Waits until SillyTavern requests a reply. @returns {Promise<Reply>} */
    asked() {
        return until('SillyTavern to ask the model', () => this.take());
    }

    /** A request that waits for its reply, if there is one. @param {(asked: any) => boolean} [isWanted] */
    take(isWanted = () => true) {
        const at = this.#waiting.findIndex(({ asked }) => isWanted(asked));
        return at < 0 ? undefined : this.#waiting.splice(at, 1)[0];
    }

    async #answer(request, response) {
        if (request.url === '/v1/models') {
            response.setHeader('content-type', 'application/json');
            response.end(JSON.stringify({ data: [{ id: 'fake' }] }));
            return;
        }
        let text = '';
        for await (const chunk of request) {
            text += chunk;
        }
        const reply = new Reply(JSON.parse(text), response);
        const answer = await this.#answerTo(reply.asked);
        if (answer === undefined) {
            this.#waiting.push(reply);
        } else {
            reply.whole(answer);
        }
    }
}

/** A reply in progress. */
export class Reply {
    /** @param {any} asked the request @param {http.ServerResponse} response */
    constructor(asked, response) {
        this.asked = asked;
        this.response = response;
    }

    /** Sends everything at once, streamed or not, as requested. */
    whole(text) {
        if (this.asked.stream) {
            this.begin();
            this.say(text);
            this.end();
            return;
        }
        this.response.setHeader('content-type', 'application/json');
        const message = { role: 'assistant', content: text };
        this.response.end(JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'stop' }] }));
    }

    /** Announces a reply: SillyTavern shows a new message. */
    begin() {
        this.response.writeHead(200, { 'content-type': 'text/event-stream' });
        this.response.flushHeaders();
    }

    say(text) {
        this.#event({ choices: [{ index: 0, delta: { content: text } }] });
    }

    /**
     * A word without letters. Of two words in the same millisecond SillyTavern shows only the first, and the start
     * counts as one; the next word, even an empty one, shows what was left out.
     */
    nudge() {
        this.say('');
    }

    end() {
        this.#event({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] });
        this.response.end('data: [DONE]\n\n');
    }

    #event(data) {
        this.response.write(`data: ${JSON.stringify(data)}\n\n`);
    }
}
