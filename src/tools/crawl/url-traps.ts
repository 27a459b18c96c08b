/** Longer ones are made by programs that add to them at every step. */
const urlCharsMax = 2_000;
const segmentsMax = 20;
/** `/a/b/a/b/a/b`: relative links that are taken wrongly grow like this. */
const repeatsMax = 2;
const parametersMax = 12;
/** From so many parameters on a page is one of countless views of a list. */
const facetsMin = 3;

/** Whether a URL looks like a place from which links go on for ever. `url`: canonical. */
export function isTrap(url: URL): boolean {
  if (url.href.length > urlCharsMax || url.search.split('&').length > parametersMax) return true;
  const segments = url.pathname.split('/').filter((segment) => segment !== '');
  return segments.length > segmentsMax || repeats(segments);
}

/**
 * What URLs of one endless kind have in common: pages of a calendar differ in digits alone, filters of a list in the
 * values of parameters. Null for a URL of no such kind.
 */
export function shapeOf(url: URL): string | null {
  const names = [...new Set(url.searchParams.keys())];
  const path = url.host + url.pathname;
  if (datedPath.test(url.pathname)) return (path + url.search).replace(/\d+/g, '#');
  if (datedQuery(url)) return `${path}?${url.search.replace(/\d+/g, '#')}`;
  return names.length >= facetsMin ? `${path}?${names.sort().join('&')}` : null;
}

/** A year and a month. No part of it may be long: strangers choose what it is held against. */
const datedPath = /(?<!\d)(?:19|20|21|22)\d\d[-/_.](?:0?[1-9]|1[0-2])(?!\d)/;
const dateNames = new Set(['year', 'yr', 'month', 'mon', 'week', 'day', 'date', 'from', 'to', 'start', 'end']);

function datedQuery({ searchParams }: URL): boolean {
  for (const [name, value] of searchParams) if (dateNames.has(name.toLowerCase()) && /^\d/.test(value)) return true;
  return false;
}

/** Whether some run of segments stands there more than `repeatsMax` times, one right after the other. */
function repeats(segments: readonly string[]): boolean {
  for (let size = 1; size * (repeatsMax + 1) <= segments.length; size++) {
    let same = 0;
    for (let at = size; at < segments.length; at++) {
      same = segments[at] === segments[at - size] ? same + 1 : 0;
      if (same >= size * repeatsMax) return true;
    }
  }
  return false;
}
