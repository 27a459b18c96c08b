import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, beforeEach, type TestContext, test } from 'node:test';
import type { Check } from '../../src/guards/check.ts';
import { findingsIn, openAt } from '../../src/guards/check.ts';
import { links } from '../../src/guards/checks/links.ts';
import { patterns } from '../../src/guards/checks/patterns.ts';
import { personalData } from '../../src/guards/checks/personal-data.ts';
import { secrets } from '../../src/guards/checks/secrets.ts';
import { words } from '../../src/guards/checks/words.ts';
import { HeldText } from '../../src/guards/held-text.ts';
import { linkKinds } from '../../src/guards/kinds.ts';
import { findingsOf } from '../../src/inference/guards/findings-of.ts';
import { startGateway } from '../start-gateway.ts';
import { textsOf } from '../steps/texts-of.ts';
import { questions, startModel } from './start-model.ts';

/* Base64, data URLs and the escapes of URLs, HTML and JSON hide nothing, and bytes that nobody can read are said to be unscanned. */

const values = ['jo@example.org', '4111 1111 1111 1111', 'sk-proj-Ab3dEf6hIj9kLm2nOp5q', 'Project Falcon', 'AB-12345'];
const check: Check = [
  ...(await personalData()),
  ...secrets(),
  ...words(['project falcon']),
  ...patterns(['AB-\\d{3,6}']),
];
const base64 = (text: string) => Buffer.from(text).toString('base64');
const inLines = (text: string, chars: number, end: string) => text.match(new RegExp(`.{1,${chars}}`, 'g'))!.join(end);

const prose = 'Nothing of this is about anybody: it is a text that has some length, and Grüße. ';
const encodings: Record<string, (value: string) => string> = {
  base64: (value) => base64(`it is ${value}.`),
  'base64 of URLs': (value) => Buffer.from(`Grüße: ${value}?>~`).toString('base64url'),
  'base64 behind other characters': (value) => `x/y_${base64(`it is ${value}.`)}`,
  'base64 of base64': (value) => base64(`it is ${base64(`here: ${value}.`)}.`),
  'lines of mail': (value) => inLines(base64(`${prose.repeat(9)}${value}. ${prose.repeat(9)}`), 76, '\r\n'),
  'lines of PEM': (value) => inLines(base64(`${prose.repeat(30)}${value}. ${prose.repeat(30)}`), 64, '\n'),
  'a long text': (value) => base64(`${prose.repeat(40)}${value}. ${prose.repeat(40)}`),
  'bytes around it': (value) =>
    Buffer.concat([randomBytes(30), Buffer.from(`\n${value}\n`), randomBytes(30)]).toString('base64'),
  'a data URL': (value) => `data:text/plain;base64,${base64(value)}`,
  'a JSON Web Token': (value) =>
    `${base64('{"alg":"none"}')}.${Buffer.from(JSON.stringify({ sub: value })).toString('base64url')}.`,
};
const escapes: Record<string, (char: string) => string> = {
  'an address': (char) => `%${char.charCodeAt(0).toString(16)}`,
  HTML: (char) => `&#${char.charCodeAt(0)};`,
  'an address in an address': (char) => `%2525${char.charCodeAt(0).toString(16)}`,
  'HTML in HTML': (char) => `&amp;#${char.charCodeAt(0)};`,
  'JSON in JSON': (char) => `\\\\u00${char.charCodeAt(0).toString(16)}`,
  'HTML in hexadecimal': (char) => `&#x${char.charCodeAt(0).toString(16).toUpperCase()};`,
  JSON: (char) => `\\u00${char.charCodeAt(0).toString(16)}`,
  JavaScript: (char) => `\\x${char.charCodeAt(0).toString(16)}`,
};

/** Texts of what was found. */
async function found(checked: Check, text: string): Promise<string[]> {
  const [findings = []] = await findingsOf(checked, [text]);
  return findings.map(({ start, end }) => text.slice(start, end));
}

for (const [name, encode] of Object.entries(encodings)) {
  test(`what base64 holds is found as the whole of it: ${name}`, async () => {
    for (const value of values) {
      const encoded = encode(value);
      const all = await found(check, `Read ${encoded} now.`);
      assert.equal(all.length, 1, `${value}: ${all.length}`);
      assert.ok(encoded.includes(all[0] ?? '-') && (all[0]?.length ?? 0) >= value.length, all[0]);
      assert.deepEqual(await found(check, `Read ${encode(prose)} now.`), []);
    }
  });
}

for (const [name, write] of Object.entries(escapes)) {
  test(`escapes hide nothing: those of ${name}`, async () => {
    for (const value of values) {
      const whole = Array.from(value, write).join('');
      const some = value.replace(/[^a-z\d]/gi, write);
      for (const escaped of [whole, some]) {
        assert.deepEqual(await found(check, `id=1&to=${escaped} end`), [escaped], `${value} as ${escaped}`);
      }
    }
    const at = write('@');
    assert.deepEqual(await found(check, `100${at} of R&D \\user %zz &unknown; &#9; ${at}`), []);
  });
}

test('an escape of HTML ends with its digits, as browsers read it', async () => {
  assert.deepEqual(await found(check, 'to jo&#64example.org end'), ['jo&#64example.org']);
});

test('a link within an address of an allowed host is no link of another one', async () => {
  const allowed = links(linkKinds, ['example.com']);
  assert.deepEqual(await found(allowed, 'see https://example.com/?to=https%3A%2F%2Fevil.org%2F and [a](/b%20c)'), []);
  assert.deepEqual(await found(allowed, 'see ![a](https&#58;//evil.org/b)'), ['https&#58;//evil.org/b']);
});

test('a text with encoded values in pieces has the findings of the whole, however it is cut', () => {
  const parts = [
    ...Object.values(encodings),
    ...Object.values(escapes).map((write) => (value: string) => Array.from(value, write).join('')),
  ];
  const text = parts.map((encode, at) => `${prose}${encode(values[at % values.length] ?? '')} `).join('');
  const whole = findingsIn(check, text, 0, text.length);
  assert.ok(whole.length >= parts.length, `${whole.length}`);
  for (const chars of [7, 50, 4_000]) {
    const held = new HeldText();
    const pieced: typeof whole = [];
    for (let at = 0; at < text.length; at += chars) {
      held.push(text.slice(at, at + chars));
      const isEnd = at + chars >= text.length;
      const before = isEnd ? held.text.length : openAt(check, held.text, held.from, held.seen);
      assert.ok(held.text.length - before < 3_000);
      const some = findingsIn(check, held.text, held.from, before, held.seen);
      for (const one of some) pieced.push({ ...one, start: held.placeOf(one.start), end: held.placeOf(one.end) });
      held.passTo(Math.max(before, some.at(-1)?.end ?? 0));
    }
    const withoutSince = (all: typeof whole) => all.map(({ kind, start, end }) => ({ kind, start, end }));
    assert.deepEqual(withoutSince(pieced), withoutSince(whole), `${chars}`);
  }
});

test('words, names, hashes and numbers are no bytes, and long base64 without a text is', async () => {
  const bytes = async (text: string) => (await findingsOf([], [text])).flat().filter(({ isUnread }) => isUnread).length;
  for (const text of [
    'internationalization '.repeat(300),
    '-'.repeat(9_000),
    'src/inference/guards/guard-steps.ts '.repeat(200),
    randomBytes(4_000).toString('hex'),
    `sha512-${randomBytes(64).toString('base64')}`,
    `${randomBytes(300).toString('base64url')}`,
    '3.14159265358979'.repeat(500),
    base64(prose.repeat(100)),
    `data:text/html;base64,${base64(`<p>${prose}</p>`)}`,
  ]) {
    assert.equal(await bytes(text), 0, text.slice(0, 40));
  }
  assert.ok((await bytes(randomBytes(2_000).toString('base64'))) > 0);
  assert.ok((await bytes(inLines(randomBytes(2_000).toString('base64'), 76, '\n'))) > 0);
  assert.equal(await bytes(`<img src="data:image/png;base64,${randomBytes(90).toString('base64')}">`), 1);
});

const upstream = await startModel(after);
/** Gemini, which answers with a text and a picture. */
const draws = createServer(async (request, response) => {
  for await (const _ of request);
  if (request.method !== 'POST') return void response.writeHead(404).end();
  const inlineData = { mimeType: 'image/png', data: randomBytes(90).toString('base64') };
  const parts = [{ text: 'Here it is: ' }, { inlineData }];
  const usageMetadata = { promptTokenCount: 3, candidatesTokenCount: 2, totalTokenCount: 5 };
  const answer = { candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP' }], usageMetadata };
  const isStream = request.url?.includes('stream') === true;
  response.setHeader('content-type', isStream ? 'text/event-stream' : 'application/json');
  response.end(isStream ? `data: ${JSON.stringify(answer)}\n\n` : JSON.stringify(answer));
});
await new Promise<void>((resolve) => draws.listen(0, '127.0.0.1', resolve));
after(() => draws.close());
const drawsUrl = `http://127.0.0.1:${(draws.address() as AddressInfo).port}/v1beta`;
const gateway = await startGateway({ after } as TestContext, {
  providers: {
    openai: { type: 'openai', base_url: upstream.url, api_key: 'k' },
    google: { type: 'gemini', base_url: drawsUrl, api_key: 'k' },
  },
  guards: {
    masks: { check: 'personal-data', kinds: ['email'], action: 'mask' },
    lenient: { check: 'personal-data', kinds: ['email'], action: 'mask', on_error: 'allow' },
    observes: { check: 'personal-data', kinds: ['email'], action: 'block', mode: 'observe' },
  },
  models: Object.fromEntries(
    ['masks', 'lenient', 'observes'].flatMap((name) => [
      [name, { targets: [{ provider: 'openai', model: 'm' }], guards: [name] }],
      [`draws-${name}`, { targets: [{ provider: 'google', model: 'gemini-2.5-flash-image' }], guards: [name] }],
    ]),
  ),
});
beforeEach(() => {
  upstream.bodies.length = 0;
  upstream.says = () => 'Hello.';
});
const picture = `![a](data:image/png;base64,${randomBytes(900).toString('base64')})`;

async function ask(format: string, model: string, text: string, stream: boolean) {
  const [path, json] = questions[format]!(model, text, stream);
  const response = await gateway.fetch(path, { json });
  const body = await response.text();
  return { status: response.status, body, said: textsOf(body, stream), guard: response.headers.get('x-culvert-guard') };
}

for (const format of Object.keys(questions)) {
  for (const stream of [false, true]) {
    const how = `${format}, ${stream ? 'streamed' : 'whole'}`;
    test(`what is encoded is masked on its way in, given back, and stays masked where the answer made it: ${how}`, async () => {
      const [own, other] = [base64('write to jo@example.org, please'), base64('or to made.up@example.net, too')];
      upstream.says = (body) => `I read ${/<EMAIL_1>/.exec(body)?.[0]}, jo%40example.org and ${other}.`;
      const { status, body, said, guard } = await ask(format, 'masks', `Read ${own}.`, stream);
      assert.equal(status, 200, body);
      assert.ok(
        !upstream.bodies[0]?.includes(own) && upstream.bodies[0]?.includes('Read <EMAIL_1>.'),
        upstream.bodies[0],
      );
      assert.ok(said.includes(`I read ${own}, <EMAIL_2> and <EMAIL_3>.`), said);
      assert.match(guard ?? '', /; scanned=100%$/);
    });

    test(`a picture in a text is unscanned, in requests and in answers: ${how}`, async () => {
      const refused = await ask(format, 'masks', `See ${picture}`, stream);
      assert.equal(refused.status, 400, refused.body);
      assert.match(refused.body, /cannot read a part of this request, such as .*bytes in base64 or/);
      assert.match(refused.guard ?? '', /; unscanned; scanned=\d\d%$/);
      assert.equal(upstream.bodies.length, 0);
      for (const model of ['lenient', 'observes']) {
        const { status, body, guard } = await ask(format, model, `See ${picture}`, stream);
        assert.equal(status, 200, body);
        assert.match(guard ?? '', /; unscanned; scanned=\d\d%$/);
      }
      upstream.says = () => `Here it is: ${picture} Good bye.`;
      const ended = await ask(format, 'masks', 'Draw.', stream);
      assert.ok(!ended.said.includes(picture.slice(40, 60)), ended.body);
      assert.match(ended.body, /content_filter|refusal|SAFETY|guard_blocked/i);
      const passed = await ask(format, 'lenient', 'Draw.', stream);
      assert.ok(passed.said.includes(picture) && passed.said.includes('Good bye.'), passed.said);
      if (!stream) assert.match(passed.guard ?? '', /; unscanned; scanned=\d\d%$/);
    });

    test(`a picture beside the text of an answer is unscanned: ${how}`, async () => {
      const refused = await ask(format, 'draws-masks', 'Draw.', stream);
      assert.match(refused.body, /content_filter|refusal|SAFETY|guard_blocked/i);
      assert.ok(!refused.body.includes('inlineData') && !refused.body.includes('base64,'), refused.body);
      const passed = await ask(format, 'draws-lenient', 'Draw.', stream);
      assert.equal(passed.status, 200, passed.body);
      if (!stream) assert.match(passed.guard ?? '', /; unscanned; scanned=\d\d%$/);
      if (format === 'gemini') assert.ok(passed.body.includes('inlineData'), passed.body);
    });
  }
}
