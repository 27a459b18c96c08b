import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bm25Defaults, bm25Document, bm25Query } from './bm25.ts';
import { languageNamed, languageNames, languageOf, stemOf, withLanguages } from './languages.ts';
import { murmur3 } from './murmur3.ts';
import { stemEnglish } from './stem-english.ts';
import { englishText, termsOf } from './text-terms.ts';

const bytes = (text: string) => new TextEncoder().encode(text);

test('terms are numbered as MurmurHash3 does, whatever their length', () => {
  // Of the reference implementation (mmh3).
  assert.deepEqual(
    ['', 'a', 'ab', 'abc', 'abcd', 'hello', 'straße'].map((text) => murmur3(bytes(text))),
    [0, 1009084850, 2613040991, 3017643002, 1139631978, 613153351, 2095602437],
  );
});

test('stems are those of the Snowball project', () => {
  const pairs = {
    consigned: 'consign',
    consistency: 'consist',
    knackeries: 'knackeri',
    generously: 'generous',
    communication: 'communic',
    hopping: 'hop',
    hoping: 'hope',
    dying: 'die',
    skies: 'sky',
    news: 'news',
    happy: 'happi',
    by: 'by',
    "dog's": 'dog',
    relational: 'relat',
    nationally: 'nation',
    controlling: 'control',
    youth: 'youth',
    // Each of these takes another way through the algorithm; stems of snowballstemmer 2.2.0.
    engineering: 'engin',
    openaiembeddings: 'openaiembed',
    widely: 'wide',
    "'voice": 'voic',
    modalities: 'modal',
    toyeed: 'toye',
    arsenfullness: 'arsenful',
    dies: 'die',
    processes: 'process',
    archaeology: 'archaeolog',
    yeled: 'yele',
    "'my": 'my',
    tried: 'tri',
    autoscaling: 'autosc',
  };
  assert.deepEqual(Object.keys(pairs).map(stemEnglish), Object.values(pairs));
});

/** Stems as Qdrant's engine makes them (qdrant-edge-py 0.9.0). */
const stems = {
  arabic: ['الكتاب', 'كتاب'],
  armenian: ['քաղաքներ', 'քաղ'],
  danish: ['husene', 'hus'],
  dutch: ['lichamelijk', 'licham'],
  english: ['running', 'run'],
  finnish: ['taloissa', 'talo'],
  french: ['continuellement', 'continuel'],
  german: ['häusern', 'haus'],
  greek: ['παιδια', 'πα'],
  hungarian: ['házakban', 'ház'],
  italian: ['abbandonata', 'abbandon'],
  norwegian: ['husene', 'hus'],
  portuguese: ['quilométricas', 'quilométr'],
  romanian: ['copiilor', 'cop'],
  russian: ['книгами', 'книг'],
  spanish: ['cheques', 'chequ'],
  swedish: ['husen', 'hus'],
  tamil: ['வீடுகளை', 'வீடு'],
  turkish: ['kitaplarımız', 'kitap'],
} as const;

test('every language has its stems, its code and its stop words, once it is loaded', async () => {
  let calls = 0;
  await withLanguages(() => {
    calls += 1;
    for (const name of languageNames) {
      const [word, stem] = stems[name];
      assert.equal(stemOf(word, name), stem, name);
      assert.ok(languageOf(name).stopWords.size > 40, name);
    }
  });
  assert.equal(calls, 2);
  assert.deepEqual(['DE', 'German', 'el', 'klingon', ''].map(languageNamed), ['german', 'german', 'greek', null, null]);
  const endless = 'izationally'.repeat(100_000);
  assert.equal(stemOf(endless, 'english'), endless);
});

test('a text is taken apart into words, without those that say nothing', () => {
  assert.deepEqual(termsOf("The dogs' kennel, No. 7: naïve über-dogs!", englishText), [
    'dog',
    'kennel',
    '7',
    'naïv',
    'über',
    'dog',
  ]);
  const options = { ...englishText, asciiFolding: true, stemmer: null, minLength: 3, maxLength: 5 } as const;
  assert.deepEqual(termsOf('A naïve élan of the establishment', options), ['naive', 'elan']);
  assert.deepEqual(termsOf('of The x-1', { ...options, tokenizer: 'whitespace', lowercase: false }), ['The', 'x-1']);
});

test('a term weighs by how often it stands there and how long the text is; in a query all weigh the same', () => {
  const document = bm25Document('bread bread salt', bm25Defaults);
  const term = (word: string) => Math.abs(murmur3(bytes(word)) | 0);
  assert.deepEqual(
    [...document.indices],
    [term('bread'), term('salt')].toSorted((a, b) => a - b),
  );
  const weight = (count: number) => Math.fround((count * 2.2) / (count + 1.2 * (0.25 + (0.75 * 3) / 256)));
  const weights = new Map([...document.indices].map((index, i) => [index, document.values[i]]));
  assert.deepEqual([weights.get(term('bread')), weights.get(term('salt'))], [weight(2), weight(1)]);
  assert.deepEqual([...bm25Query('bread, bread and salt', bm25Defaults).values], [1, 1]);
  assert.equal(bm25Document('the of', bm25Defaults).indices.length, 0);
});
