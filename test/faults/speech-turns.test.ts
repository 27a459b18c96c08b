import assert from 'node:assert/strict';
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism, getPriority } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { wavHeader } from '../../src/engines/audio/wav.ts';
import { otherKey, startGateway } from '../start-gateway.ts';
import { type Lifetime, temporaryFolder } from '../start-process.ts';
import { flood } from './hard-work.ts';

/** More than may be busy of one tenant when another begins. */
const speeches = Math.min(40, 2 * availableParallelism() + 8);

/**
 * Programs in the place of espeak-ng and ffmpeg. Each notes a line `<name> begun` when it begins, and `<name> <words>
 * <niceness>` when it has something to do. On words that are long the voice waits for `allow('voice')`, and the
 * converter for `allow('converter')`.
 */
function fakeTools(t: Lifetime) {
  const folder = temporaryFolder(t);
  const notes = join(folder, 'notes');
  writeFileSync(notes, '');
  writeFileSync(join(folder, 'head.wav'), wavHeader({ rateHz: 22_050, channels: 1 }, null));
  const tool = (name: string, script: string) => {
    writeFileSync(join(folder, name), `#!/bin/sh\nPATH=/usr/bin:/bin\ncd '${folder}'\n${script}`);
    chmodSync(join(folder, name), 0o755);
  };
  const work = (name: string) => `echo "${name} $words $(nice)" >> notes
case "$words" in long*) until [ -e allow-${name} ]; do sleep 0.05; done ;; esac`;
  tool('espeak-ng', `words=$(cat)\n${work('voice')}\ncat head.wav\necho "$words"\n`);
  tool(
    'ffmpeg',
    `echo converter begun >> notes\nread -r words\n${work('converter')}\ncat > /dev/null\nprintf '%080d' 0\n`,
  );
  const noted = (what: string) =>
    readFileSync(notes, 'utf8')
      .split('\n')
      .filter((line) => line.startsWith(what))
      .map((line) => Number(line.split(' ').at(-1)));
  return {
    folder,
    /** Niceness of those that noted it. */
    noted,
    async notedTimes(what: string, times: number) {
      while (noted(what).length < times) await pause(20);
    },
    allow(name: 'voice' | 'converter') {
      assert.ok(!existsSync(join(folder, `allow-${name}`)));
      writeFileSync(join(folder, `allow-${name}`), '');
    },
  };
}

test('S30 a speech of one key is made while all converters of another are busy, and before their work', {
  skip: process.platform !== 'linux' && 'priorities are those of Linux',
}, async (t) => {
  const tools = fakeTools(t);
  const voice = { type: 'speech', targets: ['culvert/espeak-ng'] };
  const gateway = await startGateway(t, { providers: {}, models: { voice } }, { env: { PATH: tools.folder } });
  await gateway.modelsKnown;
  const speak = (input: string, init: RequestInit = {}) =>
    gateway.fetch('/v1/audio/speech', {
      json: { model: 'voice', voice: 'alloy', input, response_format: 'opus' },
      ...init,
    });
  const hard = flood((nth, signal) => speak(`long${nth % 10}`, { signal }), speeches);
  // Converters that have nothing to do yet keep no other from beginning; then all of them have.
  await tools.notedTimes('converter begun', speeches);
  tools.allow('voice');
  await tools.notedTimes('converter long', speeches);
  const init = { headers: { authorization: `Bearer ${otherKey}` }, signal: AbortSignal.timeout(15_000) };
  const easy = await speak('short', init);
  assert.deepEqual([easy.status, await easy.text()], [200, '0'.repeat(80)]);
  assert.equal(hard.answered(), 0);
  const serving = getPriority();
  for (const name of ['voice', 'converter']) {
    assert.deepEqual(tools.noted(`${name} short`), [serving], `${name} of who has no other`);
    const urgent = tools.noted(`${name} long`).filter((niceness) => niceness === serving);
    assert.ok(urgent.length <= 1, `${name} of who has many: ${urgent.length} as urgent as serving`);
  }
  tools.allow('converter');
  while (hard.answered() < speeches) await pause(20);
  await hard.end();
});
