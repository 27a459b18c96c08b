import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import { seededRandom } from '../kernel/random.ts';
import { createLexicalEmbedding, lexicalDimensions, lexicalModel, lexicalTextMax } from './lexical-embedding.ts';

const engine = createLexicalEmbedding();

async function rowsOf(texts: readonly string[]): Promise<Float32Array[]> {
  const flat = await engine.embed('a', texts);
  return texts.map((_, at) => flat.subarray(at * lexicalDimensions, (at + 1) * lexicalDimensions));
}

/** Dot product; of unit vectors it is their cosine. */
function dot(one: Float32Array, other: Float32Array): number {
  let sum = 0;
  for (let at = 0; at < one.length; at += 1) sum += one[at]! * other[at]!;
  return sum;
}

/** For how many queries the nearest of `texts` is the one at their own place. */
async function found(queries: readonly string[], texts: readonly string[]): Promise<number> {
  const [queryRows, there] = [await rowsOf(queries), await rowsOf(texts)];
  return queryRows.filter((query, at) => {
    const scores = there.map((row) => dot(query, row));
    return scores.indexOf(Math.max(...scores)) === at;
  }).length;
}

const pairs: readonly (readonly [text: string, query: string])[] = [
  ['A culvert carries a stream under a road or railway.', 'How does water get below the road? Through a culvert.'],
  ['The refund is paid within fourteen days of the return.', 'When will I get my refund after returning something?'],
  ['Bread dough must rise in a warm place before baking.', 'My bread doughs never rise, what am I baking wrong?'],
  ['The telescope photographed a galaxy eleven billion light years away.', 'photographs of galaxies by telescopes'],
  ['Interest rates were raised by the central bank.', 'Why does a central bank raise the interest rate?'],
  ['Reset your password from the sign-in page.', 'I forgot my password, how can I reset it?'],
  ['The vaccine protects children against measles.', 'Are kids protected from measles by vaccination?'],
  ['Bees collect nectar and pollinate the orchard.', 'pollination of orchards by a bee'],
  ['The train to the airport leaves every twenty minutes.', 'How often do trains leave for the airport?'],
  ['Compile the kernel with debug symbols enabled.', 'building a kernel that has debugging symbols'],
  ['Her novel won the literature prize last autumn.', 'Which novelist won a prize for literature?'],
  ['The goalkeeper saved a penalty in the last minute.', 'penalties that goalkeepers saved'],
  ['Glaciers in the Alps are melting faster each summer.', 'the melting of alpine glaciers'],
  ['Tomatoes need full sun and regular watering.', 'How much sun and water does a tomato plant need?'],
  ['The violin concerto ends with a fast rondo.', 'concertos for violin with a rondo at the end'],
  ['Invoices over one thousand euros need a second signature.', 'Who has to sign an invoice of 2000 euros?'],
  ['The database index speeds up queries by date.', 'Why is my query by date slow without an index on the database?'],
  ['Die Heizung wird jedes Jahr im Oktober gewartet.', 'Wann ist die Wartung der Heizungen?'],
  ['Le musée est fermé le lundi et les jours fériés.', 'Quels jours les musées sont-ils fermés ?'],
  ['El contrato se renueva automáticamente cada año.', '¿Cómo cancelo la renovación automática del contrato?'],
  ['図書館は月曜日に休館します。', '月曜日の図書館は休みですか'],
];
const texts = pairs.map(([text]) => text);

test('the right neighbour of a rephrased question is found nearly always, where chance finds one', async () => {
  const right = await found(
    pairs.map(([, query]) => query),
    texts,
  );
  assert.ok(right >= 19, `${right} of ${pairs.length}`);
});

test('slips of the pen are forgiven: two letters of every long word change places', async () => {
  const slipped = texts.map((text) => text.replace(/(\p{L}{2})(\p{L})(\p{L})(?=\p{L})/gu, '$1$3$2'));
  assert.ok(slipped.filter((text, at) => text !== texts[at]).length >= 20);
  const right = await found(slipped, texts);
  assert.ok(right >= 20, `${right} of ${pairs.length}`);
});

test('order matters a little, cases and compatible characters not at all', async () => {
  const [one, other, loud, wide] = await rowsOf([
    'the dog bites a man',
    'a man bites the dog',
    'THE DOG BITES A MAN',
    'ｔｈｅ ｄｏｇ bites a man',
  ]);
  assert.ok(dot(one!, other!) > 0.8 && dot(one!, other!) < 0.999);
  assert.deepEqual(loud, one);
  assert.deepEqual(wide, one);
});

test('common words weigh little, a word said twice less than two words', async () => {
  const [a, b, c, d] = await rowsOf([
    'what is the weather in here',
    'what is the price in here',
    'rain',
    `${'rain '.repeat(9)}wind`,
  ]);
  assert.ok(dot(a!, b!) < 0.5, 'what they share says nothing');
  assert.ok(dot(c!, d!) > 0.7 && dot(c!, d!) < 0.93);
});

test('texts that share nothing are near no angle but the right one', async () => {
  const [one, other] = await rowsOf(['quantum chromodynamics of hadrons', 'lemon tart with whipped cream']);
  assert.ok(Math.abs(dot(one!, other!)) < 0.15);
  // However long they are: what falls on the same place by chance cancels.
  const chance = seededRandom(1);
  const word = (letters: string) =>
    Array.from({ length: 8 }, () => letters[Math.floor(chance.next() * letters.length)]).join('');
  const words = (letters: string) => Array.from({ length: 500 }, () => word(letters)).join(' ');
  const [long, longer] = await rowsOf([words('bcdfghjkl'), words('aeioumnpq')]);
  assert.ok(Math.abs(dot(long!, longer!)) < 0.3, `${dot(long!, longer!)}`);
});

test('every text has a vector of length 1, odd ones too; a vector does not depend on its neighbours', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.oneof(fc.string({ unit: 'binary', maxLength: 60 }), fc.lorem()), { minLength: 1, maxLength: 5 }),
      async (some) => {
        const together = await rowsOf(some);
        for (const [at, text] of some.entries()) {
          const [alone] = await rowsOf([text]);
          assert.deepEqual(together[at], alone);
          assert.ok(Math.abs(dot(alone!, alone!) - 1) < 1e-5);
        }
      },
    ),
    { seed: 1, numRuns: 200 },
  );
  const [empty, marks, half] = await rowsOf(['', '?!…', '\ud83d']);
  for (const row of [empty!, marks!, half!]) assert.ok(Math.abs(dot(row, row) - 1) < 1e-5);
});

test('the vectors of this model are the same for ever: another sum here needs a model of another name', async () => {
  assert.equal(lexicalModel, 'culvert-lexical-1024');
  assert.equal(engine.dimensions, 1_024);
  const rows = await engine.embed('a', [
    ...texts,
    '',
    '!',
    'naïve Ǆungla ﬃ 👋🏽 การทดสอบ 한국어 문장',
    'x'.repeat(200),
  ]);
  const bytes = Buffer.from(rows.buffer, rows.byteOffset, rows.byteLength);
  assert.equal(
    createHash('sha256').update(bytes).digest('hex'),
    '93e0cec65e4f08dac46d657eb48576bd5332fc4e609250455e5df3ea4f8840d6',
  );
});

test('of a longer text the first 65,536 characters count', async () => {
  const long = 'all work and no play makes jack a dull boy. '.repeat(2_000);
  assert.ok(long.length > lexicalTextMax);
  const [whole, cut, shorter] = await rowsOf([long, long.slice(0, lexicalTextMax), long.slice(0, lexicalTextMax - 20)]);
  assert.deepEqual(whole, cut);
  assert.notDeepEqual(whole, shorter);
  // One character of this becomes eighteen.
  const [swollen] = await rowsOf(['\ufdfa'.repeat(lexicalTextMax)]);
  assert.ok(Math.abs(dot(swollen!, swollen!) - 1) < 1e-5);
});

test('F24: much text leaves the loop to others in between', async () => {
  let turns = 0;
  let busy = true;
  const count = () => {
    turns += 1;
    if (busy) setImmediate(count);
  };
  setImmediate(count);
  await engine.embed(
    'a',
    Array.from({ length: 40 }, (_, at) => `${at} `.repeat(8_000)),
  );
  busy = false;
  assert.ok(turns >= 10, `${turns} turns`);
});
