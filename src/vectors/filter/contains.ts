/** Below this many characters the engine's own search is the fastest, whatever the texts are. */
const shortPartChars = 8;
/** The engine's search may compare every character of the part at every character of the text; so much it may. */
const comparisonsMax = 1_000_000;

/**
 * Whether `text` contains `part`, in time that grows with their lengths and not with the product: the engine's own
 * `includes` takes seconds for some texts of a few megabytes.
 */
export function contains(text: string, part: string): boolean {
  if (part.length <= shortPartChars || text.length * part.length <= comparisonsMax) return text.includes(part);
  const borders = bordersOf(part);
  let matched = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    while (matched > 0 && code !== part.charCodeAt(matched)) matched = borders[matched - 1]!;
    if (code === part.charCodeAt(matched)) matched++;
    if (matched === part.length) return true;
  }
  return false;
}

/** For each prefix of `part`, the length of the longest shorter prefix that it ends with (Knuth, Morris, Pratt). */
function bordersOf(part: string): Uint32Array {
  const borders = new Uint32Array(part.length);
  let border = 0;
  for (let at = 1; at < part.length; at++) {
    const code = part.charCodeAt(at);
    while (border > 0 && code !== part.charCodeAt(border)) border = borders[border - 1]!;
    if (code === part.charCodeAt(border)) border++;
    borders[at] = border;
  }
  return borders;
}
