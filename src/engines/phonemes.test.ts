import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createEspeak, type Espeak, findEspeak } from './espeak.ts';
import { phonemesOf } from './phonemes.ts';

const found = findEspeak();
const needsEspeak = { skip: found === null ? 'espeak-ng is not installed (npm run setup:test-tools)' : false };
const { signal } = new AbortController();

test('a sentence keeps its marks, and its words become phonemes that Kokoro knows', needsEspeak, async () => {
  const espeak = createEspeak(found!);
  assert.equal(await phonemesOf({ espeak, tenant: 'a' }, 'Hello, world!', 'af_heart', signal), 'həlˈoʊ, wˈɜːld!');
  assert.equal(
    await phonemesOf({ espeak, tenant: 'a' }, 'Red (dark) roses.', 'bf_emma', signal),
    'ɹˈɛd (dˈɑːk) ɹˈəʊzɪz.',
  );
  assert.doesNotMatch(
    await phonemesOf({ espeak, tenant: 'a' }, 'Très bien, mon ami: c’est ça.', 'ff_siwis', signal),
    /[\u200drx’()]/,
  );
});

test('nothing to say is no phoneme, and asks nobody', async () => {
  const espeak: Espeak = { run: () => assert.fail('asked') };
  assert.equal(await phonemesOf({ espeak, tenant: 'a' }, ' … — ! ', 'af_heart', signal), '');
});

test('where espeak-ng parts a part by itself, each is said alone', async () => {
  const spoken: string[] = [];
  const espeak: Espeak = {
    async run(_tenant, _args, text) {
      spoken.push(text);
      return Buffer.from(text.includes('\n\n') ? 'one\ntwo\nthree\n' : `<${text.trim()}>\n`);
    },
  };
  assert.equal(await phonemesOf({ espeak, tenant: 'a' }, 'aa, bb', 'ef_dora', signal), '<aa>, <bb>');
  assert.deepEqual(spoken, ['aa\n\nbb', 'aa', ' bb']);
});

test('a voice of a language without phonemes is a fault', async () => {
  const espeak: Espeak = { run: () => assert.fail('asked') };
  await assert.rejects(
    phonemesOf({ espeak, tenant: 'a' }, 'Hello.', 'zf_xiaobei', signal),
    /no phonemes for the voice 'zf_xiaobei'/,
  );
});
