import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, type TestContext, test } from 'node:test';
import { mp3Frames } from '../../src/simulator/media/sound-assets.ts';
import { listening } from '../listening.ts';
import { startGateway } from '../start-gateway.ts';
import { startService } from './start-service.ts';

/* Values that go across segments of a transcript, each of which is harmless by itself. */

const spoken: Record<string, readonly string[]> = {
  email: ['Write to jo@exam', 'ple.org today,', ' or not.'],
  card: ['It is 4111', '1111 1111', '1111, and that', 'is all.'],
  harmless: ['Write to me', 'today,', 'or not.'],
};
const texts: Record<string, string> = {
  email: 'Write to jo@example.org today, or not.',
  card: 'It is 4111 1111 1111 1111, and that is all.',
  harmless: 'Write to me today, or not.',
};
const clock = (at: number) => `00:00:0${at},000 --> 00:00:0${at + 1},000`;
const upstream = createServer(async (request, response) => {
  let body = '';
  for await (const chunk of request) body += String(chunk);
  if (request.method !== 'POST') return response.end('{"data":[]}');
  const said = Object.keys(spoken).find((name) => body.includes(`say ${name}`)) ?? 'harmless';
  const text = texts[said];
  const segments = spoken[said]!.map((one, id) => ({ id, start: id, end: id + 1, text: one }));
  if (body.includes('name="stream"')) {
    response.setHeader('content-type', 'text/event-stream');
    const send = (event: object) => response.write(`data: ${JSON.stringify(event)}\n\n`);
    for (const { id, ...segment } of segments)
      send({ type: 'transcript.text.segment', id: `seg_${id}`, speaker: 'A', ...segment });
    send({ type: 'transcript.text.done', text });
    return response.end('data: [DONE]\n\n');
  }
  if (body.includes('srt')) {
    response.setHeader('content-type', 'application/x-subrip');
    return response.end(segments.map(({ id, text: one }) => `${id + 1}\n${clock(id)}\n${one}\n`).join('\n'));
  }
  response.setHeader('content-type', 'application/json');
  return response.end(JSON.stringify({ text, language: 'english', duration: 4, segments }));
});
/** Finds the values as the guard with rules does. */
const service = await startService(after);
service.play = ({ body }) => {
  const asked = JSON.parse(body) as { texts: { text: string }[] };
  const findings = asked.texts.flatMap(({ text: found }, text) =>
    Array.from(found.matchAll(/jo@example\.org|4111 ?1111 ?1111 ?1111/g), ({ 0: value, index }) => ({
      ...{ kind: 'value', text, start: index, end: index + value.length },
    })),
  );
  return findings.length === 0 ? { verdict: 'pass' } : { verdict: 'mask', findings };
};
const guard = { check: 'personal-data', kinds: ['email', 'card'], on: ['output'] };
const webhook = {
  check: 'webhook',
  deadline: '20s',
  url: service.url,
  secret: `whsec_${btoa('a secret that is long enough')}`,
};
const guards = {
  rules: { ...guard, action: 'mask' },
  flags: { ...guard, action: 'flag' },
  blocks: { ...guard, action: 'block' },
  asks: { ...webhook, action: 'mask', on: ['output'] },
};
const up = { type: 'openai', base_url: `${await listening({ after }, upstream)}/v1`, api_key: 'k' };
const names = [...Object.keys(guards), 'two'];
const gateway = await startGateway({ after } as TestContext, {
  providers: { up },
  guards,
  models: Object.fromEntries(
    names.map((name) => [
      name,
      {
        type: 'transcription',
        targets: ['up/whisper-1', 'up/gpt-4o-transcribe-diarize'],
        guards: name === 'two' ? ['flags', 'rules'] : [name],
      },
    ]),
  ),
});

type Format = 'verbose_json' | 'srt' | 'stream';

async function ask(model: string, said: string, format: Format) {
  const form = new FormData();
  form.set('model', model);
  form.set('prompt', `say ${said}`);
  form.set('response_format', format === 'stream' ? 'diarized_json' : format);
  if (format === 'stream') form.set('stream', 'true');
  form.set('file', new Blob([new Uint8Array(mp3Frames)], { type: 'audio/mpeg' }), 'a.mp3');
  const response = await gateway.fetch('/v1/audio/transcriptions', { method: 'POST', body: form });
  return { status: response.status, text: await response.text(), guard: response.headers.get('x-culvert-guard') };
}

/** The texts of the segments. */
function segmentsOf(answer: string, format: Format): string[] {
  if (format === 'verbose_json')
    return (JSON.parse(answer) as { segments: { text: string }[] }).segments.map((one) => one.text);
  if (format === 'srt') return Array.from(answer.matchAll(/,000\n(.*)\n/g), ([, text]) => text!);
  return Array.from(
    answer.matchAll(/data: (\{.*"transcript\.text\.segment".*)/g),
    ([, json]) => JSON.parse(json!).text,
  );
}

for (const format of ['verbose_json', 'srt', 'stream'] as const) {
  for (const name of ['rules', 'two', 'asks']) {
    test(`a value across segments is masked in each of them: ${format}, ${name}`, async () => {
      // Engines whose segments have no text beside them put a blank between two words.
      const email = name === 'asks' || format === 'verbose_json' ? ['email'] : [];
      for (const said of [...email, 'card']) {
        const { status, text } = await ask(name, said, format);
        assert.equal(status, 200, text);
        const segments = segmentsOf(text, format);
        assert.equal(segments.length, spoken[said]!.length, text);
        const masked = segments.map((segment) => segment.trim().replace(/<[A-Z]+_\d+>/, '<X>'));
        if (said === 'email') assert.deepEqual(masked, ['Write to <X>', '<X> today,', 'or not.'], text);
        else assert.deepEqual(masked, ['It is <X>', '<X>', '<X>, and that', 'is all.'], text);
        assert.equal(new Set(segments.join(' ').match(/<[A-Z]+_\d+>/g)).size, 1, text);
        assert.doesNotMatch(text, /exam|ple\.org|1111/);
      }
    });
  }

  test(`segments without such a value stay as they are: ${format}`, async () => {
    for (const name of names) {
      const { status, text } = await ask(name, 'harmless', format);
      assert.equal(status, 200, text);
      assert.deepEqual(segmentsOf(text, format), spoken.harmless, text);
    }
    assert.deepEqual(segmentsOf((await ask('flags', 'card', format)).text, format), spoken.card);
    const blocked = await ask('blocks', 'card', format);
    assert.match(blocked.text, /The guard 'blocks' does not let the answer pass|guard_blocked/);
    assert.doesNotMatch(blocked.text, /1111/);
  });
}
