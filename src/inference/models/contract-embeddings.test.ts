import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { checkConfigText } from '../../config/check.ts';
import { connectProviders } from './connections.ts';
import { type EmbeddingSource, embeddingSource, ofContractSize } from './contract-embeddings.ts';
import { targetOf } from './target-of.ts';

const providersText = `
providers:
  claude: { type: anthropic, api_key: a }
  cohere: { type: cohere, api_key: b }
  openai: { type: openai, api_key: c }
`;

interface SourceFacts {
  models?: string;
  known?: Record<string, readonly string[]>;
  unheard?: readonly string[];
  providers?: string;
}

function sourceOf({ models = '', known = {}, unheard = [], providers = providersText }: SourceFacts): EmbeddingSource {
  const checked = checkConfigText(`${providers}${models}`, 'culvert.yaml', {});
  assert.ok(checked.ok);
  const { connected } = connectProviders(checked.config.providers, null);
  const lists = Object.entries(known).map(
    ([name, ids]) => [name, ids.map((id) => ({ id, type: 'embedding' as const }))] as const,
  );
  return embeddingSource({ models: checked.config.models, providers: connected, known: new Map(lists), unheard });
}

const modelOf = (facts: SourceFacts) => {
  const source = sourceOf(facts);
  return source.kind === 'model' ? `${source.provider}/${source.model.id}` : source.kind;
};

test('the first provider with a model of that size is taken, whatever stands before it', () => {
  const known = { cohere: ['embed-english-light-v3.0'], openai: ['text-embedding-3-small'] };
  assert.equal(modelOf({ known }), 'openai/text-embedding-3-small');
  assert.equal(modelOf({ known: { ...known, cohere: ['embed-v4.0'] } }), 'cohere/embed-v4.0');
  assert.equal(modelOf({ known: { openai: ['text-embedding-ada-002'] } }), 'none');
});

test('the order of a list changes nothing, nor does a newer model of the same family', () => {
  const ids = ['text-embedding-ada-002', 'text-embedding-3-small', 'text-embedding-3-large', 'text-embedding-9', 'gpt'];
  fc.assert(
    fc.property(fc.shuffledSubarray(ids, { minLength: ids.length }), (openai) => {
      assert.equal(modelOf({ known: { openai } }), 'openai/text-embedding-3-small');
    }),
    { seed: 1, numRuns: 30 },
  );
  const voyage = 'providers: { v: { type: voyage, api_key: a } }\n';
  const v = ['voyage-4', 'voyage-3-large', 'voyage-3.5'];
  assert.equal(modelOf({ providers: voyage, known: { v } }), 'v/voyage-3-large');
});

test('a provider that may embed holds the place until its list is heard; one that cannot does not', () => {
  const known = { openai: ['text-embedding-3-small'] };
  assert.deepEqual(sourceOf({ known, unheard: ['cohere'] }), { kind: 'unheard', provider: 'cohere' });
  assert.equal(modelOf({ known, unheard: ['claude'] }), 'openai/text-embedding-3-small');
});

test('an alias of the configuration comes before all of them, if it gives that size', () => {
  const known = { openai: ['text-embedding-3-small'] };
  const models = (fields: string) => `models: { mine: { type: embedding, ${fields} } }`;
  const source = (fields: string) => sourceOf({ known, models: models(fields) }).kind;
  assert.equal(source('dimensions: 1024, targets: [openai/x]'), 'alias');
  assert.equal(source('targets: [openai/x]'), 'alias', 'it may');
  assert.equal(source('dimensions: 512, targets: [openai/x]'), 'model');
  assert.equal(source('targets: [openai/text-embedding-ada-002]'), 'model');
  assert.equal(source('targets: [culvert/culvert-lexical-1024]'), 'model', 'never the lexical one');
  assert.equal(source('targets: [claude/claude-x]'), 'model', 'its provider makes no embeddings');
});

test('it is told the size, unless that is its own; what takes no wish is not told', () => {
  const { connected } = connectProviders(
    (() => {
      const checked = checkConfigText(`${providersText}  home: { type: ollama }\n`, 'culvert.yaml', {});
      assert.ok(checked.ok);
      return checked.config.providers;
    })(),
    null,
  );
  const resizes = (provider: string, model: string) => {
    const target = targetOf(connected.get(provider)!, { provider, model }, null, null, null);
    const { embedding } = ofContractSize(target);
    return [embedding?.dimensions, embedding?.resizes];
  };
  assert.deepEqual(resizes('openai', 'text-embedding-3-small'), [1_024, 'always']);
  assert.deepEqual(resizes('home', 'my-own'), [1_024, 'always']);
  assert.deepEqual(resizes('home', 'bge-m3'), [1_024, 'asked']);
  assert.deepEqual(resizes('cohere', 'embed-multilingual-v3.0'), [1_024, 'never']);
  assert.deepEqual(resizes('claude', 'x'), [undefined, undefined]);
});
