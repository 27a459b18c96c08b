/** A model's id as one segment of a path: a pattern alias lets callers shape it, and `..` must not climb out. */
export function pathSegment(model: string): string {
  return /^\.*$/.test(model) ? '-' : encodeURIComponent(model.toWellFormed());
}
