/*
 * Google takes names that begin with a letter or `_` and go on with letters, digits and `_.:-`. Callers' names may
 * begin with a digit or a dash, or hold anything where a model made them up. The escape can be read back, so that no
 * state has to travel from the request to its answer.
 */
const taken = /^[A-Za-z_][\w.:-]*$/;
const mark = 'cv__';

/** A tool's name as it is sent. */
export function wireName(name: string): string {
  if (taken.test(name) && !name.startsWith(mark)) return name;
  return mark + name.replace(/[^A-Za-z0-9_-]/gu, (character) => `:${character.codePointAt(0)?.toString(16)}.`);
}

/** Name that the caller gave it. */
export function callersName(name: string): string {
  if (!name.startsWith(mark)) return name;
  return name.slice(mark.length).replace(/:([0-9a-f]{1,6})\./g, (escaped, hex: string) => {
    const code = Number.parseInt(hex, 16);
    return code <= 0x10ffff ? String.fromCodePoint(code) : escaped;
  });
}
