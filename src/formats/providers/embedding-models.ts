/** Publicly documented facts of a family of embedding models. */
export interface EmbeddingFacts {
  /** Length of its vectors by default. */
  native: number;
  /** Other lengths that `dimensions` can ask for: none, a list, or everything from a smallest to the native one. */
  others: readonly number[] | { from: number };
}

interface Family extends EmbeddingFacts {
  /** Over the id without a vendor's prefix, in lower case. */
  pattern: RegExp;
}

const fixed = (pattern: RegExp, native: number): Family => ({ pattern, native, others: [] });
const oneOf = (pattern: RegExp, native: number, others: readonly number[]): Family => ({ pattern, native, others });
const upTo = (pattern: RegExp, native: number, from = 1): Family => ({ pattern, native, others: { from } });

/** The first pattern that matches decides: the particular before the general. */
const families: readonly Family[] = [
  upTo(/^text-embedding-3-small/, 1_536),
  upTo(/^text-embedding-3-large/, 3_072),
  fixed(/^text-embedding-ada-002/, 1_536),
  upTo(/^gemini-embedding-/, 3_072, 128),
  upTo(/^text-embedding-00[45]|^text-multilingual-embedding-002/, 768),
  upTo(/^embeddinggemma/, 768, 128),
  fixed(/^mistral-embed/, 1_024),
  upTo(/^codestral-embed/, 1_536),
  oneOf(/^embed-v4/, 1_536, [256, 512, 1_024]),
  fixed(/^embed-.*light-v[23]/, 384),
  fixed(/^embed-(english|multilingual)-v3/, 1_024),
  oneOf(/^titan-embed-text-v2/, 1_024, [256, 512]),
  fixed(/^titan-embed-(text-v1|g1-text)/, 1_536),
  oneOf(/^titan-embed-image/, 1_024, [256, 384]),
  oneOf(/^nova-2-multimodal-embed/, 3_072, [256, 384, 1_024]),
  upTo(/^jina-embeddings-v3/, 1_024, 32),
  upTo(/^jina-embeddings-v4/, 2_048, 128),
  fixed(/^jina-embeddings-v2/, 768),
  upTo(/^jina-clip-v2/, 1_024, 64),
  oneOf(/^voyage-(3-large|3\.5|code-3|context-3|4)/, 1_024, [256, 512, 2_048]),
  fixed(/^voyage-3-lite/, 512),
  fixed(/^voyage-(3|law-2|finance-2|multilingual-2)/, 1_024),
  fixed(/^voyage-code-2/, 1_536),
  oneOf(/^llama-.*nv-embedqa-1b-v2/, 2_048, [384, 512, 768, 1_024]),
  fixed(/^nv-embedqa-e5-v5|^embed-qa-4/, 1_024),
  fixed(/^nv-embedqa-mistral-7b|^nv-embed-v1|^nv-embedcode-7b/, 4_096),
  upTo(/^qwen3-embedding[-:_]?0\.6b/, 1_024, 32),
  upTo(/^qwen3-embedding[-:_]?4b/, 2_560, 32),
  upTo(/^qwen3-embedding[-:_]?8b/, 4_096, 32),
  fixed(/^bge-(m3|large)/, 1_024),
  fixed(/^bge-base/, 768),
  fixed(/^bge-small/, 384),
  fixed(/^mxbai-embed-large/, 1_024),
  fixed(/^(multilingual-)?e5-large/, 1_024),
  fixed(/^(multilingual-)?e5-base/, 768),
  fixed(/^(multilingual-)?e5-small/, 384),
  fixed(/^gte-large/, 1_024),
  fixed(/^gte-base|^gte-modernbert-base/, 768),
  fixed(/^gte-small/, 384),
  upTo(/^snowflake-arctic-embed(2|-l|:335m|$)/, 1_024, 256),
  upTo(/^nomic-embed-text/, 768, 64),
  fixed(/^all-mpnet-base|^paraphrase-multilingual-mpnet|^m2-bert-80m/, 768),
  fixed(/^all-minilm|^paraphrase-.*minilm/, 384),
];

/** Made for code: they take text too, and are taken for it last. */
const forCode = /code|codestral/;

/** Preference for text among several: lower is better, in the order above; unknown ones come after all known ones. */
export function embeddingRank(model: string): number {
  const name = bareName(model);
  const at = families.findIndex(({ pattern }) => pattern.test(name));
  if (forCode.test(name)) return families.length + 1;
  return at < 0 ? families.length : at;
}

/** Null when nothing is known of it: then it may give any length. */
export function embeddingFacts(model: string): EmbeddingFacts | null {
  const name = bareName(model);
  return families.find(({ pattern }) => pattern.test(name)) ?? null;
}

/** `natively`: without being asked; `reduced`: when `dimensions` asks for it; `unknown`: it has to be tried. */
export type Gives = 'natively' | 'reduced' | 'never' | 'unknown';

/** Whether a model gives vectors of this length. */
export function givesDimensions(model: string, dimensions: number): Gives {
  const facts = embeddingFacts(model);
  if (facts === null) return 'unknown';
  const { native, others } = facts;
  if (native === dimensions) return 'natively';
  const can = 'from' in others ? dimensions >= others.from && dimensions < native : others.includes(dimensions);
  return can ? 'reduced' : 'never';
}

/** Without its prefix: a path, or Bedrock's region and vendor (`us.cohere.embed-v4:0`). */
function bareName(model: string): string {
  return model
    .slice(model.lastIndexOf('/') + 1)
    .toLowerCase()
    .replace(/^([a-z]+\.)?(amazon|cohere)\./, '');
}
