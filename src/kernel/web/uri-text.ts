/** The text behind the signs of a URL; as it is where they are wrong. */
export function uriText(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** A name from outside, such as a model's, as one segment of a path: `..` must not climb out. */
export function pathSegment(name: string): string {
  return /^\.*$/.test(name) ? '-' : encodeURIComponent(name.toWellFormed());
}
