const secretForm = /^(sk-cv-([A-Za-z0-9]{12}))(-\S+)?$/;

/** The text, or the prefix of a key whose whole secret it is: a secret must not come into an address. */
export function prefixOf(text: string): string {
  return secretForm.exec(text.trim())?.[1] ?? text;
}

/** The text, or the id of a key whose prefix or secret it is. */
export function keyIdIn(text: string): string {
  return secretForm.exec(text.trim())?.[2] ?? text;
}
