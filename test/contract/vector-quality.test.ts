import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom } from '../../src/kernel/random.ts';
import { startGateway } from '../start-gateway.ts';

/** Notes of a workshop, made from words: the work, its part, the place, and the number of the fault. */
const deeds = ['replaced', 'cleaned', 'tightened', 'measured', 'painted', 'calibrated', 'inspected', 'lubricated'];
const parts = ['bearing', 'gasket', 'impeller', 'thermostat', 'compressor', 'manifold', 'actuator', 'solenoid'];
const places = ['northern hangar', 'paint shop', 'boiler room', 'loading dock', 'canteen kitchen', 'water tower'];
const people = ['Ingrid', 'Mustafa', 'Yolanda', 'Bartholomew', 'Siobhan', 'Takeshi'];

interface Query {
  text: string;
  /** Id of the only note that answers it. */
  answer: number;
}

const random = seededRandom(20_261);
const pick = <T>(list: readonly T[]): T => list[Math.floor(random.next() * list.length)]!;

const notes = deeds.flatMap((deed) =>
  parts.flatMap((part) =>
    pick([places.slice(0, 3), places.slice(3)]).map((place) => ({
      deed,
      part,
      place,
      fault: `F${1_000 + Math.floor(random.next() * 9_000)}`,
      person: pick(people),
    })),
  ),
);
const textOf = ({ deed, part, place, fault, person }: (typeof notes)[number]): string =>
  `${person} ${deed} the ${part} in the ${place} after fault ${fault} was reported.`;

/** As people type in a hurry: one letter in the middle of each longer word is left out. */
function hurried(text: string): string {
  return text.replaceAll(/\p{L}{6,}/gu, (word) => {
    const at = 2 + Math.floor(random.next() * (word.length - 4));
    return word.slice(0, at) + word.slice(at + 1);
  });
}

/** Half name the number of a fault beside words that many notes have; half describe the note, with slips of the hand. */
const queries: Query[] = Array.from({ length: 80 }, (_, i) => {
  const answer = Math.floor(random.next() * notes.length);
  const { deed, part, place, fault } = notes[answer]!;
  const other = pick(notes);
  const text =
    i % 2 === 0 ? `fault ${fault}: was the ${other.part} ${other.deed}?` : hurried(`${part} ${deed} in the ${place}`);
  return { text, answer };
});

/** Mean of 1 ÷ the place of the answer among the first ten; 0 where it is not there. */
function reciprocalRank(found: readonly (readonly number[])[]): number {
  const ranks = found.map((ids, i) => ids.indexOf(queries[i]!.answer) + 1);
  return ranks.reduce((sum, rank) => sum + (rank === 0 ? 0 : 1 / rank), 0) / ranks.length;
}

test('hybrid search finds more than meaning or words alone, with built-in models and no provider', async (t) => {
  const gateway = await startGateway(t);
  const call = async (method: string, path: string, json: unknown) => {
    const answer = await gateway.fetch(`/v1/vectors/collections/notes${path}`, {
      method,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(json),
    });
    assert.equal(answer.status, 200, await answer.clone().text());
    return ((await answer.json()) as { result: { points: { id: number }[] }[] }).result;
  };
  await call('PUT', '', {
    vectors: { meaning: { embedding_model: 'culvert-lexical-1024' } },
    sparse_vectors: { words: { embedding_model: 'culvert-bm25' } },
  });
  await call('PUT', '/points', { points: notes.map((note, id) => ({ id, payload: { text: textOf(note) } })) });
  const ask = async (query: (text: string) => object) => {
    const searches = queries.map(({ text }) => ({ ...query(text), limit: 10 }));
    const results = await call('POST', '/points/query/batch', { searches });
    return reciprocalRank(results.map(({ points }) => points.map(({ id }) => id)));
  };
  const by = (using: string) => (text: string) => ({ query: { text }, using });
  const dense = await ask(by('meaning'));
  const sparse = await ask(by('words'));
  const hybrid = await ask((text) => ({
    prefetch: ['meaning', 'words'].map((using) => ({ ...by(using)(text), limit: 50 })),
    query: { fusion: 'dbsf' },
  }));
  const figures = `dense ${dense.toFixed(3)}, sparse ${sparse.toFixed(3)}, hybrid ${hybrid.toFixed(3)}`;
  t.diagnostic(figures);
  assert.ok(hybrid > Math.max(dense, sparse) + 0.02, figures);
});
