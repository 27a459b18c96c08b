import assert from 'node:assert/strict';
import { test } from 'node:test';
import { citationsMax } from '../../neutral/citation.ts';
import { Grounding, movedMetadata, readGrounding } from './grounding.ts';

const text = 'Øl is brewed in Bergen. It rains there.';
const rains = { start: text.indexOf('It rains'), end: text.length };
const chunks = [
  { web: { uri: 'https://beer.example/', title: 'Beer' } },
  { retrievedContext: { title: 'rain.txt', text: 'Rain.' } },
];
const metadataOf = (startIndex: number, said: string) => ({
  groundingChunks: chunks,
  groundingSupports: [
    {
      segment: { startIndex, endIndex: startIndex + Buffer.byteLength(said), text: said },
      groundingChunkIndices: [0, 1],
    },
  ],
});

test('what rests on a source is found by bytes of UTF-8, or by its words where the bytes are of another text', () => {
  const at = Buffer.byteLength(text.slice(0, rains.start));
  assert.notEqual(at, rains.start);
  for (const start of [at, 3]) {
    const [page, file] = readGrounding(metadataOf(start, 'It rains there.'), text);
    assert.deepEqual([page!.url, page!.title, page!.span], ['https://beer.example/', 'Beer', rains]);
    assert.deepEqual([file!.url, file!.title, file!.quote, file!.span], [null, 'rain.txt', 'Rain.', rains]);
  }
  assert.equal(readGrounding(metadataOf(0, 'Nowhere.'), text)[0]!.span, undefined);
  assert.equal(readGrounding({ groundingChunks: chunks }, text).length, 2, 'sources of no words in particular');
});

test('sources of others are told in bytes of UTF-8, each once', () => {
  const grounding = new Grounding();
  const page = { url: 'https://rain.example/', title: 'Rain', quote: '' };
  grounding.add({ ...page, span: rains }, text.length);
  grounding.add({ url: null, title: 'rain.txt', quote: 'Rain.', span: rains }, text.length);
  grounding.add(page, text.length);
  const at = Buffer.byteLength(text.slice(0, rains.start));
  const end = Buffer.byteLength(text);
  assert.deepEqual(grounding.metadata(text), {
    groundingChunks: [
      { web: { uri: 'https://rain.example/', title: 'Rain' } },
      { retrievedContext: { title: 'rain.txt', text: 'Rain.' } },
    ],
    groundingSupports: [
      { segment: { startIndex: at, endIndex: end, text: 'It rains there.' }, groundingChunkIndices: [0, 1] },
      { segment: { startIndex: end, endIndex: end, text: '' }, groundingChunkIndices: [0] },
    ],
  });
});

test('of more sources than an answer may have, only the first ones move in a changed text', () => {
  const { groundingSupports } = metadataOf(0, 'Øl');
  const many = { groundingSupports: Array.from({ length: citationsMax + 1 }, () => groundingSupports[0]!) };
  const { groundingMetadata } = movedMetadata({ groundingMetadata: many }, text, `My ${text}`, ({ start, end }) => ({
    start: start + 3,
    end: end + 3,
  }));
  const moved = (groundingMetadata as typeof many).groundingSupports.map(({ segment }) => segment.startIndex);
  assert.deepEqual([moved[0], moved[citationsMax - 1], moved[citationsMax]], [3, 3, undefined]);
});
