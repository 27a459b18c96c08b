import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { EmbeddingFormatId } from './format.ts';
import { embeddingFormats } from './index.ts';
import { readRows } from './read-rows.ts';
import { writeEmbeddings } from './write-answer.ts';

// Hand-made from the published references: https://platform.openai.com/docs/api-reference/embeddings,
// https://docs.cohere.com/reference/embed, https://ai.google.dev/api/embeddings, https://docs.ollama.com/api/embed,
// https://huggingface.github.io/text-embeddings-inference, https://docs.voyageai.com/reference/embeddings-api.
const answers: readonly [string, EmbeddingFormatId, unknown, number | null][] = [
  [
    'OpenAI',
    'openai',
    {
      object: 'list',
      data: [
        { object: 'embedding', index: 1, embedding: [0.25, -0.5] },
        { object: 'embedding', index: 0, embedding: [1, 2] },
      ],
      model: 'text-embedding-3-small',
      usage: { prompt_tokens: 8, total_tokens: 8 },
    },
    8,
  ],
  [
    'OpenAI, base64',
    'openai',
    {
      object: 'list',
      data: [
        { object: 'embedding', index: 0, embedding: 'AACAPwAAAEA=' },
        { object: 'embedding', index: 1, embedding: 'AACAPgAAAL8=' },
      ],
      usage: { prompt_tokens: 8, total_tokens: 8 },
    },
    8,
  ],
  [
    'Voyage, which tells the total alone',
    'openai',
    {
      object: 'list',
      data: [
        { object: 'embedding', embedding: [1, 2], index: 0 },
        { object: 'embedding', embedding: [0.25, -0.5], index: 1 },
      ],
      model: 'voyage-3.5',
      usage: { total_tokens: 10 },
    },
    10,
  ],
  [
    'a server that counts in the total alone',
    'openai',
    { data: [{ embedding: [1, 2] }, { embedding: [0.25, -0.5] }], usage: { prompt_tokens: 0, total_tokens: 10 } },
    10,
  ],
  ['a server that leaves indexes out', 'openai', { data: [{ embedding: [1, 2] }, { embedding: [0.25, -0.5] }] }, null],
  [
    'Cohere',
    'cohere',
    {
      id: 'da6e531f-54c5-4a73-bf92-f60566d8d753',
      embeddings: {
        float: [
          [1, 2],
          [0.25, -0.5],
        ],
      },
      texts: ['a', 'b'],
      meta: { api_version: { version: '2' }, billed_units: { input_tokens: 2 } },
    },
    2,
  ],
  ['Gemini', 'gemini', { embeddings: [{ values: [1, 2] }, { values: [0.25, -0.5] }] }, null],
  [
    'Gemini, with its usage',
    'gemini',
    { embeddings: [{ values: [1, 2] }, { values: [0.25, -0.5] }], usageMetadata: { promptTokenCount: 9 } },
    9,
  ],
  [
    'Vertex',
    'vertex',
    { predictions: [predicted([1, 2], { token_count: 5 }), predicted([0.25, -0.5], { token_count: 6 })] },
    11,
  ],
  [
    'Vertex, which counts one of two texts',
    'vertex',
    { predictions: [predicted([1, 2], { token_count: 5 }), predicted([0.25, -0.5])] },
    null,
  ],
  ['Nova on Bedrock', 'bedrock', { embeddings: [{ embedding: [1, 2] }, { embedding: [0.25, -0.5] }] }, null],
  [
    'Cohere on Bedrock',
    'bedrock',
    {
      embeddings: [
        [1, 2],
        [0.25, -0.5],
      ],
      response_type: 'embeddings_floats',
    },
    null,
  ],
  [
    'TEI',
    'tei',
    [
      [1, 2],
      [0.25, -0.5],
    ],
    null,
  ],
  [
    'Ollama',
    'ollama',
    {
      model: 'all-minilm',
      embeddings: [
        [1, 2],
        [0.25, -0.5],
      ],
      total_duration: 14_143_917,
      load_duration: 1_019_500,
      prompt_eval_count: 8,
    },
    8,
  ],
];

function predicted(values: number[], statistics?: object): object {
  return { embeddings: { values, statistics } };
}

/** Of services that take one text a call. */
const single: readonly [string, EmbeddingFormatId, object, number | null][] = [
  ['Titan', 'bedrock', { embedding: [1, 2], inputTextTokenCount: 7 }, 7],
  ['Titan without a count', 'bedrock', { embedding: [1, 2] }, null],
  ['embedContent of Vertex', 'vertex', { embedding: { values: [1, 2] }, usageMetadata: { promptTokenCount: 7 } }, 7],
  ['embedContent without a count', 'vertex', { embedding: { values: [1, 2] } }, null],
];

for (const [name, format, body, inputTokens] of single) {
  test(`${name}: one vector, with the tokens that it tells`, () => {
    const read = embeddingFormats[format].decode(body as never, 1);
    assert.ok(!('class' in read), JSON.stringify(read));
    assert.deepEqual([[...read.rows], read.size, read.inputTokens], [[1, 2], 2, inputTokens]);
    const second = embeddingFormats[format].decode(body as never, 2);
    assert.equal('class' in second && second.class, 'malformed');
  });
}

for (const [name, format, body, inputTokens] of answers) {
  test(`${name}: two vectors in the order of the inputs, with the tokens that it tells`, () => {
    const read = embeddingFormats[format].decode(body, 2);
    assert.ok(!('class' in read), JSON.stringify(read));
    assert.deepEqual([[...read.rows], read.size, read.inputTokens], [[1, 2, 0.25, -0.5], 2, inputTokens]);
  });

  test(`${name}: an answer for another number of inputs is malformed`, () => {
    for (const count of [1, 3]) {
      const read = embeddingFormats[format].decode(body, count);
      assert.equal('class' in read && read.class, 'malformed');
    }
  });
}

for (const format of ['openai', 'cohere', 'gemini', 'vertex', 'bedrock', 'tei', 'ollama'] as const) {
  test(`${format}: whatever JSON comes is vectors or a fault, and nothing is thrown`, () => {
    fc.assert(
      fc.property(fc.jsonValue(), (body) => {
        const read = embeddingFormats[format].decode(body, 1);
        assert.ok('class' in read || read.rows.length === read.size);
      }),
      { seed: 7, numRuns: 500 },
    );
  });

  test(`${format}: an error inside a 200 is told by its words`, () => {
    const read = embeddingFormats[format].decode(
      { error: { message: 'the engine is on fire', type: 'server_error' } },
      1,
    );
    assert.ok('class' in read);
    assert.match(read.message, /on fire/);
  });
}

test('indexes that are not those of the inputs are malformed', () => {
  for (const indexes of [
    [0, 2],
    [-1, 0],
    [0, 0],
    [0, 0.5],
    ['0', 1],
    [0, undefined],
  ]) {
    const data = indexes.map((index) => ({ object: 'embedding', index, embedding: [1, 2] }));
    const read = embeddingFormats.openai.decode({ data }, 2);
    assert.ok('class' in read, JSON.stringify(indexes));
    assert.equal(read.message, 'answered indexes that are not those of the inputs');
  }
});

test('numbers that no vector holds are refused, written as numbers or as base64', () => {
  const base64 = (...numbers: number[]) => {
    const bytes = Buffer.alloc(numbers.length * 4);
    for (const [i, number] of numbers.entries()) bytes.writeFloatLE(number, i * 4);
    return bytes.toString('base64');
  };
  for (const vectors of [
    [[1, null]],
    [[1, '2']],
    [[Number.POSITIVE_INFINITY]],
    [[]],
    [''],
    ['%%%%'],
    [base64(1).slice(0, -3)],
    [base64(Number.NaN)],
    [base64(Number.NEGATIVE_INFINITY)],
    [null],
    [[1, 2], [1]],
    [base64(1, 2), base64(1)],
  ]) {
    const read = readRows(vectors as never, vectors.length, 1);
    assert.equal('class' in read && read.class, 'malformed', JSON.stringify(vectors));
  }
});

test('doubles go out as they came in; as base64 they are float32', () => {
  fc.assert(
    fc.property(fc.array(fc.double({ noNaN: true, min: -1e30, max: 1e30 }), { minLength: 1, maxLength: 20 }), (row) => {
      const answer = { model: 'e', rows: Float64Array.from(row), size: row.length, inputTokens: 1 };
      const written = (encoding: 'float' | 'base64') =>
        JSON.parse(writeEmbeddings({ ...answer, encoding }, 'openai').toString()) as {
          data: { embedding: number[] | string }[];
        };
      // JSON knows no minus zero.
      assert.deepEqual(
        written('float').data[0]!.embedding,
        row.map((number) => number + 0),
      );
      const read = readRows([written('base64').data[0]!.embedding], 1, 1);
      assert.ok(!('class' in read));
      assert.deepEqual([...read.rows], row.map(Math.fround));
    }),
    { seed: 11, numRuns: 200 },
  );
});
