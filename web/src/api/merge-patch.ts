/** Makes the PATCH that turns `before` into `after` (RFC 7396): members that differ, null for those that went. */
export function mergePatch(before: Members, after: Members): Record<string, unknown> {
  const patch: Record<string, unknown> = {};
  for (const name of Object.keys(before)) if (after[name] === undefined && before[name] !== null) patch[name] = null;
  for (const [name, value] of Object.entries(after)) {
    if (value === undefined || JSON.stringify(before[name]) === JSON.stringify(value)) continue;
    const known = before[name];
    patch[name] = isMembers(known) && isMembers(value) ? mergePatch(known, value) : value;
  }
  return patch;
}

type Members = Readonly<Record<string, unknown>>;

function isMembers(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
