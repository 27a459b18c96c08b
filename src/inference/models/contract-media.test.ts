import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { checkConfigText } from '../../config/check.ts';
import { modelType } from '../../formats/providers/read-model-list.ts';
import { connectProviders } from './connections.ts';
import { contractMedia, type MediaType, mediaSource, modelFor } from './contract-media.ts';

const providersText = `
providers:
  claude: { type: anthropic, api_key: a }
  groq: { type: groq, api_key: b }
  openai: { type: openai, api_key: c }
`;

interface SourceFacts {
  models?: string;
  known?: Record<string, readonly string[]>;
  unheard?: readonly string[];
  providers?: string;
  engines?: readonly string[];
}

function sourceOf(type: MediaType, facts: SourceFacts) {
  const { models = '', known = {}, unheard = [], providers = providersText, engines = [] } = facts;
  const checked = checkConfigText(`${providers}${models}`, 'culvert.yaml', {});
  assert.ok(checked.ok, JSON.stringify(checked));
  const lists = Object.entries(known).map(
    ([name, ids]) => [name, ids.map((id) => ({ id, type: modelType({}, id) ?? ('chat' as const) }))] as const,
  );
  return mediaSource(type, {
    models: checked.config.models,
    providers: connectProviders(checked.config.providers, null).connected,
    known: new Map(lists),
    unheard,
    speechEngines: new Map(engines.map((id) => [id, {}])),
    transcriptionEngines: new Map(engines.map((id) => [id, {}])),
  });
}

/** The model behind one of the contract's, as `provider/id`, or the kind of what is there. */
function behind(alias: string, type: MediaType, facts: SourceFacts): string {
  const source = sourceOf(type, facts);
  return source.kind === 'models' ? `${source.provider}/${modelFor(alias, type, source.models).id}` : source.kind;
}

const openai = ['gpt-5', 'gpt-4o-mini-tts', 'gpt-4o-transcribe', 'tts-1', 'tts-1-hd', 'whisper-1', 'dall-e-3'];
const groq = ['whisper-large-v3', 'whisper-large-v3-turbo', 'llama-4', 'canopylabs/orpheus-v1-english'];

test('the first provider with a model for it answers; what only chats is passed over', () => {
  const known = { claude: ['claude-opus-5'], openai };
  assert.equal(behind('tts-1', 'speech', { known }), 'openai/tts-1');
  assert.equal(behind('stt-1', 'transcription', { known }), 'openai/whisper-1');
  const later = { openai: ['gpt-live-transcribe', 'gpt-realtime-whisper', 'gpt-transcribe'] };
  assert.equal(
    behind('stt-1', 'transcription', { known: later }),
    'openai/gpt-transcribe',
    'those of sessions come last',
  );
  assert.equal(behind('x', 'image', { known }), 'openai/dall-e-3');
  assert.equal(behind('tts-1', 'speech', { known: { openai: ['gpt-5'] } }), 'none');
});

test('each of the contract’s names takes the model that it comes from, whatever a list’s order', () => {
  const expected = {
    'stt-large-v3-turbo': 'groq/whisper-large-v3-turbo',
    'stt-large-v3': 'groq/whisper-large-v3',
    'stt-1': 'groq/whisper-large-v3-turbo',
    'tts-1': 'groq/canopylabs/orpheus-v1-english',
  };
  fc.assert(
    fc.property(fc.shuffledSubarray(groq, { minLength: groq.length }), (list) => {
      for (const [alias, model] of Object.entries(expected)) {
        const type = alias === 'tts-1' ? 'speech' : 'transcription';
        assert.equal(behind(alias, type, { known: { groq: list, openai } }), model);
      }
    }),
    { seed: 1, numRuns: 30 },
  );
  assert.deepEqual(Object.keys(expected).toSorted(), Object.values(contractMedia).flat().toSorted());
});

test('a provider that may have one holds the place until its list is heard; one that cannot does not', () => {
  assert.deepEqual(sourceOf('speech', { unheard: ['openai'], engines: ['espeak-ng'] }), {
    kind: 'unheard',
    provider: 'openai',
  });
  assert.deepEqual(sourceOf('speech', { unheard: ['claude'], engines: ['espeak-ng', 'b'] }), {
    kind: 'engine',
    model: 'espeak-ng',
  });
  assert.equal(sourceOf('image', { engines: ['espeak-ng'] }).kind, 'none');
});

test('an alias of the configuration comes before all of them', () => {
  const models = 'models: { chat: { targets: [openai/x] }, voice: { type: speech, targets: [groq/y] } }';
  assert.deepEqual(sourceOf('speech', { models, known: { openai } }), { kind: 'alias', id: 'voice' });
  assert.equal(behind('stt-1', 'transcription', { models, known: { openai } }), 'openai/whisper-1');
  const listed = 'models: { voice: { type: speech, targets: [culvert/espeak-ng] } }';
  assert.equal(sourceOf('speech', { models: listed, engines: ['espeak-ng'] }).kind, 'alias');
  assert.equal(sourceOf('speech', { models: listed }).kind, 'none');
});
