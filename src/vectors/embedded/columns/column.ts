import type { JsonObject, JsonValue } from '../../../kernel/json.ts';
import { putNewest } from '../../../kernel/put-newest.ts';
import { contains } from '../../filter/contains.ts';
import type { FieldTest, Scalar } from '../../filter/filter.ts';
import { hasTerms } from '../../filter/has-terms.ts';
import type { KeyPath } from '../../filter/key-path.ts';
import { inRange, valueHolds } from '../../filter/matches.ts';
import { reach } from '../../filter/reach.ts';
import { createCodeLists, type SavedLists } from './code-lists.ts';
import { createDictionary, type Dictionary, isLong, longCode, nullCode, type SavedDictionary } from './dictionary.ts';
import type { SlotSet } from './slot-set.ts';
import { exactly, oneHolds, type Verdict } from './verdict.ts';

/** A column as it is kept in a file. */
export interface SavedColumn {
  dictionary: SavedDictionary;
  values: SavedLists;
  shapes: SavedLists;
}

/** Values of one key path in every row. */
export interface Column {
  readonly key: KeyPath;
  readonly bytes: number;
  readonly dictionary: Dictionary;
  put(slot: number, payload: JsonObject | null): void;
  /** Codes of the row's values: elements of an array, or the value itself. */
  codes(slot: number, visit: (code: number) => void): void;
  /** Rows that pass a field condition. */
  passing(tests: readonly FieldTest[], slotEnd: number): Verdict;
  /** Rows with a value of this code. */
  having(code: number, slotEnd: number): SlotSet;
  /** Rows that reach a value which is not null and not `[]`. */
  filled(slotEnd: number): SlotSet;
  /** Rows that reach an explicit null. */
  nulls(slotEnd: number): SlotSet;
  /** Views, good until the next change. */
  save(): SavedColumn;
}

/** Values of a key whose slots are kept, so that a search with the same filter need not go through all rows again. */
const cachedSetsMax = 16;

/** Shapes of values: null, a value that is not an array, or an array of this many elements. */
const nullShape = 1;
const valueShape = 2;
const arrayShape = 3;
/** Longer arrays are one shape: what hangs on their length asks the row. */
const countedElementsMax = 255;
const shapeEnd = arrayShape + countedElementsMax + 2;

/** `saved` is copied. */
export function createColumn(key: KeyPath, saved?: SavedColumn): Column {
  const dictionary = createDictionary(saved?.dictionary);
  /** A row's values and their shapes: several when the path has `[]`. */
  const values = createCodeLists(saved?.values);
  const shapes = createCodeLists(saved?.shapes);

  /** Slots by code for those that were asked for, the least recently used first; of the rows as they are. */
  const cachedSets = new Map<number, SlotSet>();

  function having(code: number, slotEnd: number): SlotSet {
    const set = cachedSets.get(code) ?? select(code, slotEnd);
    putNewest(cachedSets, code, set, cachedSetsMax);
    return set;
  }

  function select(code: number, slotEnd: number): SlotSet {
    const hits = new Uint8Array(dictionary.end);
    if (code > 0) hits[code] = sure;
    return values.select(hits, sure, slotEnd);
  }

  function selectShapes(level: (shape: number) => number, levelSought: number, slotEnd: number): SlotSet {
    const hits = new Uint8Array(shapeEnd);
    for (let shape = 1; shape < shapeEnd; shape++) hits[shape] = level(shape);
    return shapes.select(hits, levelSought, slotEnd);
  }

  return {
    key,
    dictionary,
    get bytes() {
      // A set has a bit where `values` have four bytes.
      return dictionary.bytes + values.bytes * (1 + cachedSets.size / 32) + shapes.bytes;
    },
    put(slot, payload) {
      cachedSets.clear();
      values.each(slot, dictionary.release);
      const reached = codesAt(payload, key, dictionary.code);
      for (const code of reached.values) dictionary.retain(code);
      values.set(slot, reached.values);
      shapes.set(slot, reached.shapes);
    },
    codes: values.each,
    having,
    passing(tests, slotEnd) {
      const [test] = tests;
      if (tests.length === 1 && test?.kind === 'value' && !isLong(test.value)) {
        return exactly(having(dictionary.find(test.value), slotEnd));
      }
      const hits = hitsOf(tests, dictionary);
      const certain = values.select(hits, sure, slotEnd);
      const ofValues = hits.includes(unsure)
        ? { sure: certain, possible: values.select(hits, unsure, slotEnd) }
        : exactly(certain);
      const counts = tests.filter((test) => test.kind === 'values-count');
      return counts.length === 0 ? ofValues : oneHolds(ofValues, passingCounts(counts, slotEnd));
    },
    filled: (slotEnd) =>
      selectShapes((shape) => (shape === valueShape || shape > arrayShape ? sure : 0), sure, slotEnd),
    nulls: (slotEnd) => selectShapes((shape) => (shape === nullShape ? sure : 0), sure, slotEnd),
    save: () => ({ dictionary: dictionary.save(), values: values.save(), shapes: shapes.save() }),
  };

  function passingCounts(tests: readonly Extract<FieldTest, { kind: 'values-count' }>[], slotEnd: number): Verdict {
    const holds = (count: number) => tests.some((test) => inRange(test, count));
    const level = (shape: number) => (shape === shapeEnd - 1 ? unsure : holds(countOfShape(shape)) ? sure : 0);
    return { sure: selectShapes(level, sure, slotEnd), possible: selectShapes(level, unsure, slotEnd) };
  }
}

function codesAt(payload: JsonObject | null, { steps }: KeyPath, codeOf: (value: JsonValue) => number) {
  const values: number[] = [];
  const shapes: number[] = [];
  reach(payload, steps, (value) => {
    shapes.push(shapeOf(value));
    if (!Array.isArray(value)) values.push(codeOf(value));
    else for (const element of value) values.push(codeOf(element));
    return false;
  });
  return { values: distinct(values), shapes: distinct(shapes) };
}

function shapeOf(value: JsonValue): number {
  if (Array.isArray(value)) return arrayShape + Math.min(value.length, countedElementsMax + 1);
  return value === null ? nullShape : valueShape;
}

function countOfShape(shape: number): number {
  return shape >= arrayShape ? shape - arrayShape : shape === nullShape ? 0 : 1;
}

function distinct(codes: number[]): readonly number[] {
  return codes.length < 2 ? codes : [...new Set(codes)];
}

/** Results of tests on a code: `sure` it passes, `unsure` (the row must be read), or 0. */
const sure = 2;
const unsure = 1;

/** By code. The tests are OR-ed; `values-count` is none of a value, and passed over. */
function hitsOf(tests: readonly FieldTest[], dictionary: Dictionary): Uint8Array {
  const hits = new Uint8Array(dictionary.end);
  for (const test of tests) mark(test, dictionary, hits);
  hits[0] = 0;
  return hits;
}

function mark(test: FieldTest, dictionary: Dictionary, hits: Uint8Array): void {
  switch (test.kind) {
    case 'value':
      return markValue(test.value, dictionary, hits);
    case 'any':
      for (const value of test.values) markValue(value, dictionary, hits);
      return;
    case 'except':
      return markExcept(test.values, dictionary, hits);
    case 'text':
      raise(hits, longCode, unsure);
      return markWhere(hits, (code) => {
        const value = dictionary.value(code);
        return typeof value === 'string' && contains(value, test.text);
      });
    case 'prefix':
      raise(hits, longCode, unsure);
      return markWhere(hits, (code) => {
        const value = dictionary.value(code);
        return typeof value === 'string' && value.startsWith(test.prefix);
      });
    case 'terms':
      raise(hits, longCode, unsure);
      return markWhere(hits, (code) => {
        const value = dictionary.value(code);
        return typeof value === 'string' && hasTerms(value, test);
      });
    case 'range':
      return markWhere(hits, (code) => inRange(test, dictionary.number(code)));
    case 'datetime':
      return markWhere(hits, (code) => inRange(test, dictionary.time(code)));
    case 'values-count':
      return;
    default:
      return markWhere(hits, (code) => {
        const value = dictionary.value(code);
        return typeof value === 'object' && valueHolds(test, { ...value });
      });
  }
}

function markValue(value: Scalar, dictionary: Dictionary, hits: Uint8Array): void {
  if (isLong(value)) raise(hits, longCode, unsure);
  else hits[dictionary.find(value)] = sure;
}

/** Every value but null passes unless it is listed. */
function markExcept(values: ReadonlySet<Scalar>, dictionary: Dictionary, hits: Uint8Array): void {
  const listed = new Set([nullCode]);
  let longListed = false;
  for (const value of values) {
    if (isLong(value)) longListed = true;
    else listed.add(dictionary.find(value));
  }
  markWhere(hits, (code) => !listed.has(code) && !(longListed && code === longCode));
  if (longListed) raise(hits, longCode, unsure);
}

function markWhere(hits: Uint8Array, holds: (code: number) => boolean): void {
  for (let code = 1; code < hits.length; code++) if (holds(code)) hits[code] = sure;
}

function raise(hits: Uint8Array, code: number, level: number): void {
  hits[code] = Math.max(hits[code]!, level);
}
