import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import { startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { until } from '../until.ts';
import { answerParts, doors, requestParts } from './coverage-doors.ts';

/*
 * Every cell of format × whole or streamed × part × verdict: a word in that part has its verdict, or the part is
 * `unscanned` and refused. A format that lacks a part says why.
 */

const word = 'zebrafish';
/** Thoughts of the simulator have it. */
const thought = 'a plain sentence will do';
/** What the provider of a cell was sent, by the mark of the cell. */
const sent = new Map<string, string>();
const upstream = await startUpstream({
  onEnded({ body }) {
    const text = JSON.stringify(body);
    const [mark] = /(?:mark|strict)\d+mark/.exec(text) ?? [];
    if (mark !== undefined) sent.set(mark, text);
  },
});
after(upstream.close);
const verdicts = {
  block: { action: 'block' },
  mask: { action: 'mask' },
  flag: { action: 'flag' },
  route: { action: 'route', route_to: 'routed' },
  observe: { action: 'block', mode: 'observe' },
} as const;
type VerdictName = keyof typeof verdicts;
const did: Record<VerdictName, string> = {
  block: 'blocked',
  mask: 'masked',
  flag: 'flagged',
  route: 'routed',
  observe: 'would-be-blocked',
};
const guard = { check: 'words', words: [word, thought] };
const names = Object.keys(verdicts) as VerdictName[];
const guards = Object.fromEntries([
  ...names.map((name) => [`in-${name}`, { ...guard, ...verdicts[name], on: ['input'] }]),
  ...names.map((name) => [`lenient-${name}`, { ...guard, ...verdicts[name], on: ['input'], on_error: 'allow' }]),
  ...names
    .filter((name) => name !== 'route')
    .map((name) => [`out-${name}`, { ...guard, ...verdicts[name], on: ['output'] }]),
]);
const base_url = `${upstream.url}/v1`;
const providers = {
  openai: { type: 'openai', base_url, api_key: 'k' },
  claude: { type: 'anthropic', base_url, api_key: 'k' },
  google: { type: 'gemini', base_url: upstream.url, api_key: 'k' },
  cohere: { type: 'cohere', base_url: upstream.url, api_key: 'k' },
  aws: { type: 'bedrock', base_url: upstream.url, region: 'us-east-1', api_key: 'k' },
};
const says = {
  'output text': 'mock/text=%7Aebrafish,too',
  'output tool arguments': 'mock/call=find;text=Done.',
  'output reasoning': 'mock/slow-reasoning=1ms;text=Done.',
  'n: 2': 'mock/text=%7Aebrafish,too',
} as const;
const nameOf = (provider: string, name: string, at: number | string) => `${provider}-${name}-${at}`;
const gateway = await startGateway({ after } as TestContext, {
  providers,
  guards,
  models: {
    routed: { targets: [{ provider: 'openai', model: 'mock/text=Routed.' }] },
    ...Object.fromEntries(
      Object.keys(providers).flatMap((provider) =>
        Object.keys(guards).flatMap((name) =>
          name.startsWith('out-')
            ? answerParts.map((part, at) => [
                nameOf(provider, name, at),
                { targets: [{ provider, model: says[part] }], guards: [name] },
              ])
            : [[nameOf(provider, name, 'ok'), { targets: [{ provider, model: 'mock/text=Done.' }], guards: [name] }]],
        ),
      ),
    ),
  },
});

let cells = 0;
async function ask(door: string, model: string, stream: boolean, body: object) {
  const { order } = doors[door]!;
  cells += 1;
  const cell = `coverage-${cells}`;
  const { path, body: json, headers = {} } = order(model, stream, body);
  const response = await gateway.fetch(path, {
    json,
    headers: { ...headers, 'x-request-id': cell, 'x-culvert-tag': cell },
  });
  const text = await response.text();
  const id = response.headers.get('x-culvert-request-id') ?? '';
  return { status: response.status, text, id, guard: response.headers.get('x-culvert-guard') ?? '' };
}

/** Texts of an answer in whatever format and framing, the pieces of each kind joined. */
function saidIn(answer: string): string {
  const said = new Map<string, string>();
  for (const [, name = '', text = ''] of answer.matchAll(/"(\w+)":\s*"((?:[^"\\]|\\.)*)"/g)) {
    said.set(name, (said.get(name) ?? '') + JSON.parse(`"${text}"`));
  }
  return [...said.values(), answer].join('\n');
}

/** Runs all of these at once, sixteen at a time, and says which failed. */
async function all(works: readonly (readonly [cell: string, work: () => Promise<void>])[]): Promise<void> {
  const failed: string[] = [];
  const next = works.values();
  const run = async () => {
    for (const [cell, work] of next) {
      await work().catch((error: Error) => failed.push(`${cell}: ${error.message.slice(0, 600)}`));
    }
  };
  await Promise.all(Array.from({ length: 16 }, run));
  assert.deepEqual(failed, [], `${failed.length} of ${works.length} cells`);
}

let marks = 0;

for (const [
  door,
  {
    parts,
    unread,
    providers: [provider = ''],
  },
] of Object.entries(doors)) {
  test(`${door}: every part of a request has its verdict, or is unscanned and refused`, () => {
    const works = requestParts.flatMap((part) => {
      const plant = parts[part];
      if (typeof plant === 'string') return [];
      return names.flatMap((name) =>
        [false, true].map((stream) => {
          marks += 1;
          const mark = `mark${marks}mark`;
          const cell = `${part}, ${name}, ${stream ? 'streamed' : 'whole'}`;
          return [
            cell,
            async () => {
              const body = plant(`${mark} ${word}`);
              const isSeen = part !== 'picture';
              if (unread.includes(part)) {
                const strict = await ask(
                  door,
                  nameOf(provider, `in-${name}`, 'ok'),
                  stream,
                  plant(`strict${mark.slice(4)} ${word}`),
                );
                if (name !== 'observe') assert.equal(strict.status, 400, strict.text);
                assert.match(strict.guard, /; unscanned; scanned=\d\d?%$/);
                if (name !== 'observe') assert.equal(sent.get(`strict${mark.slice(4)}`), undefined);
              }
              const guardName = unread.includes(part) ? `lenient-${name}` : `in-${name}`;
              const { status, text, guard } = await ask(door, nameOf(provider, guardName, 'ok'), stream, body);
              const verdict = isSeen ? `${did[name]}:\\d+` : 'pass';
              const scanned = unread.includes(part) ? 'unscanned; scanned=\\d\\d?%' : 'scanned=100%';
              assert.match(guard, new RegExp(`^${guardName}=${verdict}; ${scanned}$`), `${status} ${text}`);
              if (!isSeen) return;
              if (name === 'block') {
                assert.equal(status, 400, text);
                assert.equal(sent.get(mark), undefined);
                assert.match(text, new RegExp(`The guard '${guardName}' does not let`));
              } else {
                const isNoPicture = part === 'address of a picture' && /fetch|address|picture|image/i.test(text);
                assert.ok(status === 200 || isNoPicture, `${status} ${text}`);
                const raw = sent.get(mark);
                // Some formats and providers have no place for thoughts.
                if (raw === undefined) assert.ok(part === 'reasoning' || status !== 200, text);
                else assert.equal(raw.includes(word), name !== 'mask', raw);
                if (raw !== undefined && name === 'mask') assert.match(raw, /<WORD_1>/);
              }
            },
          ] as const;
        }),
      );
    });
    return all(works);
  });
}

for (const [door, { answers, question, providers: over }] of Object.entries(doors)) {
  test(`${door}: every part of an answer has its verdict, over ${over.join(', ')}`, () => {
    const works = answerParts.flatMap((part, at) => {
      const plant = answers[part];
      if (typeof plant === 'string') return [];
      // The simulator of Bedrock does not think aloud.
      return over
        .filter((provider) => provider !== 'aws' || part !== 'output reasoning')
        .flatMap((provider) =>
          names
            .filter((name) => name !== 'route')
            .flatMap((name) =>
              [false, true].map((stream) => {
                const cell = `${part} over ${provider}, ${name}, ${stream ? 'streamed' : 'whole'}`;
                return [
                  cell,
                  async () => {
                    const guardName = `out-${name}`;
                    const { status, text, id, guard } = await ask(
                      door,
                      nameOf(provider, guardName, at),
                      stream,
                      plant(question('Please call find')),
                    );
                    const said = saidIn(text);
                    const looked = part === 'output reasoning' ? thought : word;
                    if (name === 'block') {
                      assert.ok(!said.includes(looked), said);
                      assert.match(
                        text,
                        /guard_blocked|does not let the answer pass|content_filter|refusal|SAFETY|filter|ERROR/i,
                      );
                    } else {
                      assert.equal(status, 200, text);
                      assert.equal(said.includes(looked), name !== 'mask', said);
                      if (name === 'mask') assert.match(said, /<WORD_1>/);
                    }
                    const verdict = new RegExp(`${guardName}=${did[name]}:[1-9]`);
                    if (!stream) assert.match(guard, verdict, text);
                    await until('its record is written', async () => {
                      const response = await gateway.fetch(`/v1/requests/${id}`);
                      const record = await response.text();
                      if (response.ok) assert.match(record, verdict);
                      return response.ok;
                    });
                  },
                ] as const;
              }),
            ),
        );
    });
    return all(works);
  });
}

test('no cell was left out', () => {
  const holes = Object.entries(doors).flatMap(([door, { parts, answers }]) =>
    [...Object.entries(parts), ...Object.entries(answers)].flatMap(([part, plant]) =>
      typeof plant === 'string' && plant.length < 10 ? [`${door}: ${part}`] : [],
    ),
  );
  assert.deepEqual(holes, []);
  assert.ok(cells > 1_000, `${cells} cells`);
});
