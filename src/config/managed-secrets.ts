/** The value of a secret that a manager keeps, or why there is none. */
export type ManagedSecret = { ok: true; text: string } | { ok: false; message: string };

/**
 * Last answers of managers, by reference. They belong to the process, as its environment does: a file is checked at once,
 * and cannot wait for a manager.
 */
let values: ReadonlyMap<string, ManagedSecret> = new Map();

/**
 * Takes what managers answered. A secret that cannot be read now keeps the value that it had. Returns the references whose
 * value is another one, and the messages of those that could not be read.
 */
export function keepManagedSecrets(read: ReadonlyMap<string, ManagedSecret>): { changed: string[]; unread: string[] } {
  const changed: string[] = [];
  const unread: string[] = [];
  const next = new Map<string, ManagedSecret>();
  for (const [reference, value] of read) {
    const before = values.get(reference);
    if (!value.ok) unread.push(value.message);
    next.set(reference, value.ok || before?.ok !== true ? value : before);
    if (value.ok && before?.ok === true && before.text !== value.text) changed.push(reference);
    else if (value.ok && before?.ok === false) changed.push(reference);
  }
  values = next;
  return { changed, unread };
}

/** All last answers, by reference. */
export function managedSecrets(): typeof values {
  return values;
}

/** The last value of a reference. */
export function managedSecret(reference: string): ManagedSecret {
  return (
    values.get(reference) ?? {
      ok: false,
      message: `the secret ${reference} was not read; Culvert reads secrets of managers when it loads culvert.yaml`,
    }
  );
}
