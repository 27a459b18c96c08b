import type { Check, Finding, Rule } from '../check.ts';
import { type SecretKind, secretKinds } from '../kinds.ts';
import { solidFrom } from './personal-data.ts';

/** A key's public format: how it begins, and its whole. */
interface KeyForm {
  kind: SecretKind;
  begins: string;
  form: RegExp;
}

const key = (kind: SecretKind, begins: string, rest: string): KeyForm => ({
  kind,
  begins,
  form: new RegExp(`(?:${begins})${rest}`, 'y'),
});

/** Written from what the services say of their keys. A kind that has several prefixes has several lines. */
const keyForms: readonly KeyForm[] = [
  key('aws-key', 'A(?:KIA|SIA|BIA|CCA)', '[A-Z2-7]{16}(?![A-Za-z0-9])'),
  key('github-token', 'gh[pousr]_', '[A-Za-z0-9]{36,251}(?!\\w)'),
  key('github-token', 'github_pat_', '\\w{60,244}(?!\\w)'),
  key('gitlab-token', 'gl(?:pat|dt|ptt|rt|ft|soat|cbt|agent|imt|oas|ffct)-', '[\\w-]{20,300}(?:\\.[\\w.]{2,60})?'),
  key('slack-token', 'xox[abeoprs]-', '[A-Za-z0-9-]{10,250}(?!\\w)'),
  key('slack-token', 'xapp-\\d-', '[A-Za-z0-9-]{20,250}(?!\\w)'),
  key('slack-webhook', 'hooks\\.slack\\.com/', '(?:services|workflows|triggers)/[A-Za-z0-9/_+-]{20,120}'),
  key('stripe-key', '[rs]k_(?:live|test)_', '[A-Za-z0-9]{10,250}(?!\\w)'),
  key('stripe-key', 'whsec_', '[A-Za-z0-9+/]{24,250}={0,2}'),
  key('anthropic-key', 'sk-ant-', '[\\w-]{20,250}(?![\\w-])'),
  key('openrouter-key', 'sk-or-v1-', '[0-9a-f]{64}(?!\\w)'),
  key('openai-key', 'sk-(?:proj|svcacct|admin)-', '[\\w-]{20,250}(?![\\w-])'),
  key('openai-key', 'sk-', '[A-Za-z0-9]{20,100}(?![\\w-])'),
  key('google-key', 'AIza', '[\\w-]{35}(?![\\w-])'),
  key('google-oauth', 'ya29\\.', '[\\w-]{20,400}'),
  key('google-oauth', 'GOCSPX-', '[\\w-]{28}(?![\\w-])'),
  key('npm-token', 'npm_', '[A-Za-z0-9]{36}(?!\\w)'),
  key('pypi-token', 'pypi-', 'AgE[\\w-]{50,400}'),
  key('huggingface-token', 'hf_', '[A-Za-z0-9]{34,40}(?!\\w)'),
  key('groq-key', 'gsk_', '[A-Za-z0-9]{40,60}(?!\\w)'),
  key('xai-key', 'xai-', '[A-Za-z0-9]{60,100}(?!\\w)'),
  key('perplexity-key', 'pplx-', '[A-Za-z0-9]{40,60}(?!\\w)'),
  key('replicate-token', 'r8_', '[A-Za-z0-9]{37,40}(?!\\w)'),
  key('sendgrid-key', 'SG\\.', '[\\w-]{22}\\.[\\w-]{43}(?![\\w-])'),
  key('twilio-key', 'SK', '[0-9a-f]{32}(?!\\w)'),
  key('telegram-token', 'bot', '\\d{8,10}:[\\w-]{35}(?![\\w-])'),
  key('shopify-token', 'shp(?:at|ca|pa|ss)_', '[0-9a-fA-F]{32}(?!\\w)'),
  key('digitalocean-token', 'do[opr]_v1_', '[0-9a-f]{64}(?!\\w)'),
  key('linear-key', 'lin_(?:api|oauth)_', '[A-Za-z0-9]{32,64}(?!\\w)'),
  key('databricks-token', 'dapi', '[0-9a-f]{32}(?:-\\d)?(?!\\w)'),
  key('vault-token', 'hv[bsr]\\.', '[\\w-]{24,300}'),
  key('postman-key', 'PMAK-', '[0-9a-f]{24}-[0-9a-f]{34}(?!\\w)'),
  key('jwt', 'eyJ', '[\\w-]{8,1000}\\.eyJ[\\w-]{8,2000}\\.[\\w-]{16,700}(?![\\w-])'),
  key('private-key', '-----BEGIN ', '(?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----'),
];

/** Rules for secrets. Default: of all kinds. */
export function secrets(kinds: readonly SecretKind[] = secretKinds): Check {
  const forms = keyForms.filter(({ kind }) => kinds.includes(kind));
  return [
    ...(forms.length > 0 ? [keysOf(forms)] : []),
    ...(kinds.includes('url-password') ? [passwordsInUrls] : []),
    ...(kinds.includes('assigned') ? [assignedValues] : []),
  ];
}

const keyChars = 4_096;
const privateKeyChars = 3_900;

/** One look for all beginnings; at each, the forms that begin so. */
function keysOf(forms: readonly KeyForm[]): Rule {
  const begins = forms.map((form) => form.begins).join('|');
  const [inWords = [], lines = []] = [false, true].map((isLine) =>
    forms.filter((form) => form.begins.startsWith('-') === isLine).map((form) => form.begins),
  );
  // One look at the character before a place spares most places of prose all the beginnings.
  const words = inWords.length === 0 ? [] : [`(?<![A-Za-z0-9])(?:${inWords.join('|')})`];
  const beginning = new RegExp([...words, ...lines].join('|'), 'g');
  const unfinished = new RegExp(`(?:${begins})[\\w./+=:-]*$`, 'g');
  return {
    longest: keyChars,
    next(text, from) {
      beginning.lastIndex = from;
      for (let begun = beginning.exec(text); begun !== null; begun = beginning.exec(text)) {
        const start = begun.index;
        const found = keyAt(forms, text, start);
        if (found !== null) return found;
        beginning.lastIndex = start + 1;
      }
      return null;
    },
    open(text, from) {
      const least = Math.max(from, text.length - keyChars);
      let open = solidFrom(text, Math.max(least, text.length - 64), 64);
      // "-----BEGIN " has a space, and what follows it has lines.
      const header = text.lastIndexOf('-----BEGIN ');
      if (header >= least && privateKeyEnd(text, header) === text.length) open = Math.min(open, header);
      const solid = solidFrom(text, least, keyChars);
      if (open > least && text.length - solid >= 64) {
        unfinished.lastIndex = solid;
        open = Math.min(open, unfinished.exec(text)?.index ?? open);
      }
      return open;
    },
  };
}

function keyAt(forms: readonly KeyForm[], text: string, start: number): Finding | null {
  if (/[A-Za-z0-9]/.test(text.charAt(start - 1)) && text[start] !== '-') return null;
  for (const { kind, form } of forms) {
    form.lastIndex = start;
    const matched = form.exec(text)?.[0];
    if (matched === undefined) continue;
    if (kind === 'private-key') return { kind, start, end: privateKeyEnd(text, start) };
    return { kind, start, end: start + matched.length };
  }
  return null;
}

/** Without an end, all that a key of this size could be: a part of a key is a secret too. */
function privateKeyEnd(text: string, start: number): number {
  const most = Math.min(text.length, start + privateKeyChars);
  const ending = text.indexOf('-----END ', start);
  if (ending === -1 || ending + 60 > start + privateKeyChars) return most;
  const end = text.indexOf('-----', ending + 9);
  return end === -1 || end > ending + 60 ? most : Math.min(most, end + 5);
}

const urlPassword = /[a-z][a-z\d+.-]{1,20}:\/\/[^\s:/?#@"'<>]{0,100}:([^\s/?#@"'<>$*{]{3,200})@[\w.[-]/y;

/** `scheme://user:password@host`. */
const passwordsInUrls: Rule = {
  longest: 400,
  next(text, from) {
    for (let at = text.indexOf('://', from); at !== -1; at = text.indexOf('://', at + 3)) {
      let start = at;
      while (start > from && at - start < 20 && /[a-z\d+.-]/.test(text.charAt(start - 1))) start--;
      while (start < at && !/[a-z]/.test(text.charAt(start))) start++;
      urlPassword.lastIndex = start;
      const found = urlPassword.exec(text);
      if (found?.[1] === undefined) continue;
      const end = start + found[0].length - 2;
      return { kind: 'url-password', start: end - found[1].length, end, since: start };
    }
    return null;
  },
  open: (text, from) => solidFrom(text, from, 400),
};

const secretName =
  /(?:passw(?:or)?d|passwort|pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|auth[_-]?key|credential)/gi;
const assigned =
  /[\w-]{0,24}\\{0,4}["']?[^\S\r\n]{0,2}(?::=|=>|[:=])[^\S\r\n]{0,2}(?:Bearer )?\\{0,4}(?:"([^"\s]{8,200})(?=")|'([^'\s]{8,200})(?=')|["'`]?([^\s"'`<>{}()[\],;$*]{8,200})(?![^\s"'`<>{}()[\],;$*]))/y;
const unassigned = /^[\w-]{0,32}\\{0,4}["']?[^\S\r\n]{0,2}(?:(?::=|=>|[:=])[^\S\r\n]{0,2}(?:Bearer )?["'`]?\S*)?$/;
const assignedChars = 300;

/** A value of high entropy behind a name that says that it is a secret. */
const assignedValues: Rule = {
  longest: assignedChars,
  next(text, from) {
    secretName.lastIndex = from;
    for (let named = secretName.exec(text); named !== null; named = secretName.exec(text)) {
      assigned.lastIndex = named.index + named[0].length;
      const found = assigned.exec(text);
      const value = found?.[1] ?? found?.[2] ?? found?.[3] ?? '';
      if (found === null || !isRandom(value)) continue;
      const end = named.index + named[0].length + found[0].length;
      return { kind: 'assigned', start: end - value.length, end, since: named.index };
    }
    return null;
  },
  open(text, from) {
    const least = Math.max(from, text.length - assignedChars);
    const tail = text.slice(least);
    secretName.lastIndex = 0;
    for (const named of tail.matchAll(secretName)) {
      if (unassigned.test(tail.slice(named.index + named[0].length))) return least + named.index;
    }
    return Math.max(least, solidFrom(text, from, 24));
  },
};

/** Whether a value is no word, no number and no path: letters with digits or signs, and few repetitions. */
function isRandom(value: string): boolean {
  const kinds = [/[a-z]/, /[A-Z]/, /\d/, /[^A-Za-z\d]/].filter((kind) => kind.test(value)).length;
  if (kinds < 2 || !/[A-Za-z]/.test(value) || !/[\d!@#%^&+=~?|-]/.test(value)) return false;
  if (
    /^(?:https?:|\/|\.|process\.|env\.|os\.|\w+\.\w+\.?\w*$|[$<{([]|%\(|[\w.]+\()|[$#{]\{|example|change-?me|placeholder|x{4}|your[-_]/i.test(
      value,
    )
  ) {
    return false;
  }
  // A hyphenated name in lower case, such as `my-secret-name`.
  if (/^[a-z]+(?:[-_][a-z]+)*$/.test(value)) return false;
  return bitsOf(value) >= (value.length >= 16 ? 3.2 : 2.7);
}

/** Shannon's entropy of its characters, in bits each. */
function bitsOf(value: string): number {
  const counts = new Map<string, number>();
  for (const char of value) counts.set(char, (counts.get(char) ?? 0) + 1);
  let bits = 0;
  for (const count of counts.values()) bits -= (count / value.length) * Math.log2(count / value.length);
  return bits;
}
