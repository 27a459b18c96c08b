import { markedSecrets } from '../../../src/kernel/secret-spellings.ts';

const secretForm = /^(sk-cv-([A-Za-z0-9]{12}))(-\S+)?$/;
/** Letters and digits in a row, as chance mixes them: `hf-` and `fw-` also begin names of models. */
const mixed = /(?=[a-z]{0,11}\d)(?=\d{0,11}[a-z])[a-z\d]{12}/i;

/**
 * The text, or the prefix of a key whose whole secret it is, or '' for a key of another service: a secret must not come
 * into an address.
 */
export function prefixOf(text: string): string {
  const isOfService = mixed.test(text) && markedSecrets.some((form) => text.search(form) >= 0);
  return secretForm.exec(text.trim())?.[1] ?? (isOfService ? '' : text);
}

/** The text, or the id of a key whose prefix or secret it is. */
export function keyIdIn(text: string): string {
  return secretForm.exec(text.trim())?.[2] ?? text;
}
