/** A name as the configuration takes one, like `preferred` and not among the keys of `taken`. */
export function uniqueName(preferred: string, taken: Readonly<Record<string, unknown>>): string {
  const clean = preferred.replace(/[^A-Za-z0-9_.-]+/g, '-').replace(/^[^A-Za-z0-9]+|-+$/g, '');
  const base = clean === '' || clean in Object.prototype ? `a-${clean}`.replace(/-$/, '') : clean.slice(0, 56);
  if (!Object.hasOwn(taken, base)) return base;
  for (let number = 2; ; number++) if (!Object.hasOwn(taken, `${base}-${number}`)) return `${base}-${number}`;
}
