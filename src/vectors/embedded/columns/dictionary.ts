import type { JsonValue } from '../../../kernel/json.ts';
import { datetimeMs } from '../../filter/datetime.ts';
import type { GeoPoint, Scalar } from '../../filter/filter.ts';
import { geoPointOf } from '../../filter/geo.ts';

/** Longer strings are not kept: a test that cannot tell them apart asks the row. */
export const columnStringCharsMax = 256;

/** Codes of values that are known by their kind alone. 0 is not a code. */
export const nullCode = 1;
/** An object that is not a geo point, or an array within an array. */
const otherCode = 2;
/** A string that is not kept. */
export const longCode = 3;
const firstCode = 4;

/** A map holds twice as many; a column with more is not kept, however much memory there is. */
const distinctValuesMax = 8_000_000;

/** About what one value takes in the map, the arrays and on the heap, without its characters. */
const entryBytes = 112;

/** A dictionary in the form in which a file stores it. */
export interface SavedDictionary {
  /** By code; undefined for codes by kind and free ones. */
  values: readonly (Scalar | GeoPoint | undefined)[];
  /** Rows that have each. */
  rows: Uint32Array;
}

/** The different values of a column, each with a number. */
export type Dictionary = ReturnType<typeof createDictionary>;

/** `saved` is copied. */
export function createDictionary(saved?: SavedDictionary) {
  const codes = new Map<Scalar, number>();
  const geoCodes = new Map<string, number>();
  const values: (Scalar | GeoPoint | undefined)[] = [undefined, undefined, undefined, undefined];
  const free: number[] = [];
  let rows = new Uint32Array(64);
  let numbers = new Float64Array(64).fill(Number.NaN);
  /** Parsed when a test first needs times. */
  let times: Float64Array | null = null;
  let bytes = 0;

  function timeOf(value: Scalar | GeoPoint | undefined): number {
    return (typeof value === 'string' ? datetimeMs(value) : null) ?? Number.NaN;
  }

  if (saved !== undefined) {
    rows = Uint32Array.from(saved.rows);
    numbers = new Float64Array(rows.length).fill(Number.NaN);
    for (let code = firstCode; code < saved.values.length; code++) {
      const value = saved.values[code];
      values[code] = value;
      if (value === undefined) free.push(code);
      else {
        if (typeof value === 'object') geoCodes.set(geoName(value), code);
        else codes.set(value, code);
        if (typeof value === 'number') numbers[code] = value;
        bytes += bytesOf(value);
      }
    }
  }

  function add(value: Scalar | GeoPoint): number {
    const code = free.pop() ?? values.length;
    if (code >= rows.length) {
      rows = grown(rows, new Uint32Array(rows.length * 2));
      numbers = grown(numbers, new Float64Array(rows.length).fill(Number.NaN));
      if (times !== null) times = grown(times, new Float64Array(rows.length).fill(Number.NaN));
    }
    values[code] = value;
    numbers[code] = typeof value === 'number' ? value : Number.NaN;
    if (times !== null) times[code] = timeOf(value);
    bytes += bytesOf(value);
    return code;
  }

  function forget(code: number): void {
    const value = values[code]!;
    if (typeof value === 'object') geoCodes.delete(geoName(value));
    else codes.delete(value);
    values[code] = undefined;
    bytes -= bytesOf(value);
    free.push(code);
  }

  return {
    /** Codes are below it. */
    get end(): number {
      return values.length;
    },
    /** About; infinite when there are more values than can be kept. */
    get bytes(): number {
      return values.length > distinctValuesMax ? Infinity : bytes;
    },
    /** The code of a value, a new one when it has none; `retain` says that a row has it. */
    code(value: JsonValue): number {
      if (value === null) return nullCode;
      if (typeof value === 'object') {
        const point = geoPointOf(value);
        if (point === null) return otherCode;
        const name = geoName(point);
        const known = geoCodes.get(name) ?? add(point);
        geoCodes.set(name, known);
        return known;
      }
      if (isLong(value)) return longCode;
      const known = codes.get(value as Scalar);
      if (known !== undefined) return known;
      const code = add(value as Scalar);
      codes.set(value as Scalar, code);
      return code;
    },
    /** The code of a string, number or boolean; 0 when no row has it. Not for long strings. */
    find: (value: Scalar): number => codes.get(value) ?? 0,
    retain(code: number): void {
      rows[code]!++;
    },
    release(code: number): void {
      if (--rows[code]! === 0 && code >= firstCode) forget(code);
    },
    /** Rows that have it. */
    rows: (code: number): number => rows[code]!,
    /** The value of a code; undefined for codes by kind and for values that no row has. */
    value: (code: number): Scalar | GeoPoint | undefined => values[code],
    /** NaN for anything but a number. */
    number: (code: number): number => numbers[code]!,
    /** Ms since 1970 of a string that is a time; NaN for any other. */
    time(code: number): number {
      if (times === null) {
        times = new Float64Array(rows.length).fill(Number.NaN);
        for (let i = firstCode; i < values.length; i++) times[i] = timeOf(values[i]);
      }
      return times[code]!;
    },
    /** Views, good until the next change. */
    save: (): SavedDictionary => ({ values, rows }),
  };
}

/** A string that a column does not keep. */
export function isLong(value: JsonValue): value is string {
  return typeof value === 'string' && value.length > columnStringCharsMax;
}

function geoName(point: GeoPoint): string {
  return `${point.lat},${point.lon}`;
}

function bytesOf(value: Scalar | GeoPoint): number {
  if (typeof value === 'object') return 2 * entryBytes;
  return entryBytes + (typeof value === 'string' ? value.length : 0);
}

function grown<A extends Uint32Array | Float64Array>(from: A, to: A): A {
  to.set(from);
  return to;
}
