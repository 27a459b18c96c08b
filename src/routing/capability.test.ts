import assert from 'node:assert/strict';
import { test } from 'node:test';
import { plainNeeds, targetOf } from '../../test/simulation/routing-samples.ts';
import type { RequestNeeds } from '../formats/neutral/request.ts';
import { noneCapable, tierOf, unmetImage, unmetNeed, unmetSize } from './capability.ts';
import type { Capabilities } from './target.ts';

const needing = (needs: Partial<RequestNeeds>): RequestNeeds => ({ ...plainNeeds, ...needs });
const order = (first: Parameters<typeof targetOf>[1], second: Parameters<typeof targetOf>[1], needs: RequestNeeds) =>
  Math.sign(
    tierOf({ target: targetOf('a/m', first), rank: 0 }, needs) -
      tierOf({ target: targetOf('b/m', second), rank: 0 }, needs),
  );

const filtered: [Partial<RequestNeeds>, (keyof Capabilities)[], string][] = [
  [{ vision: true }, ['vision'], 'vision'],
  [{ tools: true }, ['tools'], 'tools'],
  [{ audioIn: true }, ['audioIn'], 'audio input'],
  [{ logprobs: true }, ['logprobs'], 'logprobs'],
  [{ jsonSchema: true }, ['jsonSchema', 'tools'], 'JSON schema'],
];
for (const [needs, cannot, word] of filtered) {
  test(`a request that needs ${word} passes by a target without it`, () => {
    assert.equal(unmetNeed(targetOf('a/m', { cannot }), needing(needs)), word);
    assert.equal(unmetNeed(targetOf('a/m'), needing(needs)), null);
    assert.equal(unmetNeed(targetOf('a/m', { cannot }), plainNeeds), null);
  });
}

test('JSON schema, n and reasoning effort do not keep a target out where conversion has an answer', () => {
  assert.equal(unmetNeed(targetOf('a/m', { cannot: ['jsonSchema'] }), needing({ jsonSchema: true })), null);
  assert.equal(unmetNeed(targetOf('a/m', { cannot: ['nativeN'] }), needing({ n: 3 })), null);
  assert.equal(unmetNeed(targetOf('a/m', { cannot: ['reasoning'] }), needing({ reasoning: true })), null);
});

test('input that is surely longer than the context keeps a target away; an unknown context never does', () => {
  const needs = needing({ inputTokensEstimate: 10_001 });
  assert.equal(
    unmetSize(targetOf('a/m', { contextWindow: 8_000 }), needs),
    'about 10001 input tokens (its context holds 8000)',
  );
  assert.equal(unmetSize(targetOf('a/m', { contextWindow: 9_000 }), needs), null, 'the estimate may be that far off');
  assert.equal(unmetSize(targetOf('a/m', { contextWindow: null }), needs), null);
});

test('a target with room goes before one that may be too small, whatever their priorities', () => {
  const small = { contextWindow: 9_000, priority: 1 };
  const large = { contextWindow: 100_000, priority: 2 };
  assert.equal(order(small, large, needing({ inputTokensEstimate: 8_500 })), 1);
  assert.equal(order(small, large, needing({ inputTokensEstimate: 5_000, maxOutputTokens: 4_000 })), 1);
  assert.equal(order(small, large, needing({ inputTokensEstimate: 4_000, maxOutputTokens: 64_000 })), -1);
});

test('room for the answer is no matter for vectors and pictures, whose inputs are judged one by one', () => {
  const small = { contextWindow: 1_000, priority: 1 };
  const large = { contextWindow: 100_000, priority: 2 };
  const image = { size: null, transparent: false, outputFormat: null, edit: null } as never;
  for (const needs of [{ embedding: { inputs: 'texts', dimensions: null } as const }, { image }])
    assert.equal(order(small, large, needing({ ...needs, inputTokensEstimate: 8_500 })), -1);
});

test('a target with native n goes first when n > 1', () => {
  const without = { cannot: ['nativeN'] as const, priority: 1 };
  assert.equal(order(without, { priority: 2 }, needing({ n: 2 })), 1);
  assert.equal(order(without, { priority: 2 }, plainNeeds), -1);
});

test('within a priority, a target that need not clamp the output goes first', () => {
  const needs = needing({ maxOutputTokens: 32_000 });
  assert.equal(order({ maxOutputTokens: 8_192 }, {}, needs), 1);
  assert.equal(order({ maxOutputTokens: 8_192, priority: 1 }, { priority: 2 }, needs), -1);
});

test('fallbacks come after every target of the alias itself', () => {
  const own = { target: targetOf('a/m', { priority: 9, cannot: ['nativeN'] }), rank: 0 };
  const fallback = { target: targetOf('b/m'), rank: 1 };
  assert.ok(tierOf(own, needing({ n: 2 })) < tierOf(fallback, needing({ n: 2 })));
});

test('where nobody can do it, the refusal names the one field that asks for it, or else the model', () => {
  const [blind, plain] = [targetOf('a/m', { cannot: ['vision'] }), targetOf('b/m', { cannot: ['logprobs'] })];
  const paramOf = (needs: Partial<RequestNeeds>, ...targets: (typeof blind)[]) => {
    const candidates = targets.map((target) => ({ target, rank: 0 }));
    const refused = noneCapable({ id: 'chat', type: 'chat' }, candidates, needing(needs), () => []);
    return refused === null ? null : refused.kind === 'invalid-request' && refused.param;
  };
  const both = { vision: true, logprobs: true };
  assert.equal(paramOf(both, blind), 'messages');
  assert.equal(paramOf(both, plain), 'logprobs');
  assert.equal(paramOf(both, blind, plain), 'model');
  assert.equal(paramOf({ vision: true }, blind, plain), null);
});

test('a transcript needs a target with its task, its speakers, its times and room for its file', () => {
  const can = { timestamps: 'segments', speakers: false, translates: false, fileBytesMax: 3 * 1024 * 1024 } as const;
  const needs = { task: 'transcribe', timestamps: 'none', speakers: false, fileBytes: 3 * 1024 * 1024 } as const;
  const unmet = (more: Partial<NonNullable<RequestNeeds['transcription']>>, better: object = {}) =>
    unmetNeed(
      targetOf('a/m', { transcription: { ...can, ...better } }),
      needing({ transcription: { ...needs, ...more } }),
    );
  assert.equal(unmet({}), null);
  assert.equal(unmet({ task: 'translate' }), 'translation');
  assert.equal(unmet({ task: 'translate' }, { translates: true }), null);
  assert.equal(unmet({ speakers: true }), 'response_format: diarized_json');
  assert.equal(unmet({ speakers: true }, { speakers: true }), null);
  assert.equal(unmet({ timestamps: 'segments' }), null);
  assert.equal(unmet({ timestamps: 'segments' }, { timestamps: 'none' }), 'times: of segments');
  assert.equal(unmet({ timestamps: 'words' }), 'times: of words');
  assert.equal(unmet({ timestamps: 'words' }, { timestamps: 'words' }), null);
  assert.equal(unmet({ fileBytes: needs.fileBytes + 1 }), 'file: of more than 3 MB');
  assert.equal(unmet({ fileBytes: needs.fileBytes + 1 }, { fileBytesMax: null }), null);
  assert.equal(unmetNeed(targetOf('a/m'), needing({ transcription: needs })), 'transcription');
});

test('vectors need a target that takes their input, and of the wanted length', () => {
  const can = {
    batch: 8,
    batchTokens: null,
    takesTokens: false,
    dimensions: 512,
    resizes: 'never',
    space: null,
  } as const;
  const unmet = (embedding: NonNullable<RequestNeeds['embedding']>, better: object = {}) =>
    unmetNeed(targetOf('a/m', { embedding: { ...can, ...better } }), needing({ embedding }));
  assert.equal(unmet({ inputs: 'texts', dimensions: null }), null);
  assert.equal(unmet({ inputs: 'texts', dimensions: 512 }), null);
  assert.equal(unmet({ inputs: 'texts', dimensions: 256 }), 'dimensions: 256');
  assert.equal(unmet({ inputs: 'texts', dimensions: 256 }, { resizes: 'asked' }), null);
  assert.equal(unmet({ inputs: 'tokens', dimensions: null }), 'token input');
  assert.equal(unmet({ inputs: 'tokens', dimensions: null }, { takesTokens: true }), null);
  assert.equal(unmetNeed(targetOf('a/m'), needing({ embedding: { inputs: 'texts', dimensions: null } })), 'embeddings');
});

test('a picture needs a target that makes it so, where somebody knows, and changes as many', () => {
  const sizes = { kind: 'listed', sizes: ['512x512'] } as const;
  const outputs = ['png'] as const;
  const can = {
    format: 'openai',
    perCall: 1,
    sizes,
    gives: 'asked',
    takes: 'all',
    outputs,
    transparent: false,
  } as const;
  const edits = { picturesMax: 2, mask: false, bytesMax: 1_000 };
  const wanted = { size: null, transparent: false, outputFormat: null, edit: null };
  const unmet = (needs: Partial<Parameters<typeof unmetImage>[1]>, better: object = {}) =>
    unmetImage({ ...can, ...better } as Parameters<typeof unmetImage>[0], { ...wanted, ...needs });
  assert.equal(unmet({}), null);
  assert.equal(unmet({ size: { width: 512, height: 512 } }), null);
  assert.equal(unmet({ size: { width: 512, height: 256 } }), 'size: 512x256 (it makes 512x512)');
  assert.equal(unmet({ outputFormat: 'png' }), null);
  assert.equal(unmet({ outputFormat: 'webp' }), 'output_format: webp');
  assert.equal(unmet({ outputFormat: 'webp' }, { outputs: undefined }), null);
  assert.equal(unmet({ transparent: true }), 'background: transparent');
  for (const transparent of [true, undefined]) assert.equal(unmet({ transparent: true }, { transparent }), null);
  const edit = { pictures: 2, mask: false, markup: false, bytes: 1_000 };
  assert.equal(unmet({ edit }), 'changing pictures');
  assert.equal(unmet({ edit }, { edits }), null);
  assert.equal(unmet({ edit: { ...edit, pictures: 3 } }, { edits }), 'pictures to change: 3 (it takes 2)');
  assert.equal(unmet({ edit: { ...edit, bytes: 1_001 } }, { edits }), 'pictures to change: 1001 bytes (it takes 1000)');
  assert.equal(unmet({ edit: { ...edit, mask: true } }, { edits }), 'mask');
  assert.equal(unmet({ edit: { ...edit, mask: true } }, { edits: { ...edits, mask: true } }), null);
  assert.equal(unmetImage(undefined, wanted), 'pictures');
});
