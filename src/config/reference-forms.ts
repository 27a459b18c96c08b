/*
 * How other programs write a reference: LiteLLM, editors, shells, templates, CI, Windows, secret managers. Real secrets
 * look like some of these, so a form without words of its program needs a name in capitals.
 */
const anyName = '([A-Za-z_]\\w*)';
const capitals = '([A-Z_][A-Z0-9_]{2,})';
/** `env:` of editors, `os.environ/` of LiteLLM, `process.env.` of programs, `secrets.` of CI. */
const environment = '(?:os\\.environ|(?:process|import\\.meta)\\.env|env|ENV)';
const holder = `\\$?(?:${environment}|secrets|vars)[.:]`;

/** Brackets that templates put around a name. */
const brackets: readonly (readonly [open: string, close: string])[] = [
  ['\\$\\{\\{', '\\}\\}'],
  ['\\{\\{', '\\}\\}'],
  ['[$#%]?\\{', '\\}'],
  ['%\\(', '\\)s'],
  ['\\$\\(', '\\)'],
  ['%', '%'],
  ['<', '>'],
  ['@', '@'],
  ['__', '__'],
  ['\\$\\$?', ''],
];

/** Their first group is the variable. */
const variableForms: readonly RegExp[] = [
  new RegExp(`^\\$?${environment}(?:://|[:./])${anyName}$`),
  new RegExp(`^\\$env:${anyName}$`, 'i'),
  // os.environ["NAME"], os.getenv("NAME", ""), env('NAME'), %env(NAME)%
  new RegExp(
    `^%?(?:${environment}(?:\\.get)?|(?:os\\.)?[gG]etenv|Deno\\.env\\.get) *[([] *["']?${anyName}["']? *(?:,.*)?[)\\]]%?$`,
  ),
  ...brackets.flatMap(([open, close]) => [
    new RegExp(`^${open} *${holder}${anyName} *${close}$`),
    new RegExp(`^${open} *${capitals} *${close}$`),
  ]),
  // The name alone, and in small letters.
  /^((?:[A-Z][A-Z0-9]*_)+(?:KEY|TOKEN|SECRET|PASSWORD))$/,
  /^\$((?:[a-z][a-z0-9]*_)+(?:key|token|secret|password))$/,
];

/** Their first group is the path. */
const fileForms: readonly RegExp[] = [
  /^file:(?:\/\/)?([\w./~-]+)$/,
  /^@?(\/(?:run|var|etc|mnt|home|root|opt|srv|secrets?|vault)\/[\w./-]+)$/,
];

/** Secret managers that culvert.yaml can name, and how it does. */
const managerForms: readonly (readonly [form: RegExp, written: (found: RegExpExecArray) => string])[] = [
  [/^(?:ref\+)?vault:(?:\/\/)?([\w-]+\/[\w./@-]+(?:#[\w.-]+)?)$/, ([, path = '']) => `vault:${path}`],
  [/^arn:aws[\w-]*:secretsmanager:\S+$/, ([arn]) => `aws:${arn}`],
  [/^projects\/[^/]+\/secrets\/[\w/-]+$/, ([name]) => `gcp:${name}`],
  [
    /^@Microsoft\.KeyVault\(SecretUri=https:\/\/([\w-]+)\.vault\.azure\.net\/secrets\/([\w-]+)[^)]*\)$/,
    ([, vault = '', name = '']) => `azure:${vault}/${name}`,
  ],
];

/** Other secret managers and commands, which have no counterpart in culvert.yaml. */
const otherForms: readonly RegExp[] = [
  /^(?:ref\+)?(?:secret|vault|op|aws|gcp|google|azure|akv|keyvault|ssm|bws|doppler|infisical|akeyless|conjur|key(?:chain|ring)|(?:open)?bao|pass|sops|k8s|kubernetes)[\w+.-]*:\/\//i,
  /^vault:[\w-]+\//,
  /^arn:aws[\w-]*:(?:secretsmanager|ssm):/,
  /^projects\/[^/]+\/secrets\//,
  /^@Microsoft\.KeyVault\(/,
  /^ENC\[/,
  /^!(?:ENV|env|secret|vault) /,
  /^\$\([^()]* [^()]*\)$/,
  /^`[^`]* [^`]*`$/,
];
/** Examples in documentation: `sk-...`, `sk-xxxx`, `your-api-key`, `<your key>`. */
const placeholderForms: readonly RegExp[] = [
  /^[\w-]*(?:\.{3,}|…|\*{3,})$/,
  /^(?:[a-z]{2,6}[-_])+x{3,16}$/,
  /^<[^<>]+>$/,
  /^\W?(?:(?:your|my|insert|replace)[-_ ])(?:[\w -]*[-_ ])?(?:key|token|secret|password)(?:[-_ ]here)?\W?$/i,
];
const referenceForm = /^\$\{[^}\n]*\}$/;

const refusal = 'this is a reference that Culvert does not read, so it would be sent as the secret';

/**
 * Why `text` cannot be a credential: it is a reference of another program, one of ours where none are read (the admin
 * API), or a placeholder. Null when it is none of them. `mayBePath`: the path of a file is a value of its kind.
 */
export function referenceRefusal(text: string, mayBePath = false): string | null {
  if (referenceForm.test(text.trim())) return 'references are read in culvert.yaml alone; here, give the secret itself';
  return mayBePath && foreignFile(text) !== null ? null : foreignRefusal(text);
}

/** The same for a header, whose value may begin with a scheme; one of our own references may be meant literally there. */
export function headerRefusal(value: string): string | null {
  return foreignRefusal(value.replace(/^(?:Bearer|Basic|Token|Key) /i, ''));
}

function foreignRefusal(text: string): string | null {
  const variable = foreignName(text);
  const name = variable ?? foreignFile(text) ?? managedName(text);
  if (name !== null) return `${refusal}; did you mean \${${name}} in culvert.yaml?`;
  // biome-ignore lint/suspicious/noTemplateCurlyInString: shown as people write it
  const hint = 'put the secret into a variable or a file, and write ${NAME} or ${file:/path} in culvert.yaml';
  if (matchesAny(otherForms, text)) return `${refusal}; ${hint}`;
  return matchesAny(placeholderForms, text)
    ? 'this is the placeholder of an example; put your own value in its place'
    : null;
}

/** The variable that `text` names in the form of another program; null when it names none. */
export function foreignName(text: string): string | null {
  return firstGroup(variableForms, text);
}

/** `file:` and the path that `text` names so. */
function foreignFile(text: string): string | null {
  const path = firstGroup(fileForms, text);
  return path === null ? null : `file:${path}`;
}

/** The reference to a secret manager that `text` is in its own form. */
function managedName(text: string): string | null {
  for (const [form, written] of isShort(text) ? managerForms : []) {
    const found = form.exec(text.trim());
    if (found !== null) return written(found);
  }
  return null;
}

/** The variable inside `${…}` where it was written as another program does: `${env.NAME}`, `${{ secrets.NAME }}`. */
export function nameInBraces(inner: string): string | null {
  return new RegExp(`^[{ ]*${holder}${anyName}[ }]*$`).exec(inner)?.[1] ?? null;
}

/** The message without what it quotes, for a value that came from a reference: nothing of one may be shown. */
export function withoutValue(message: string): string {
  return message.startsWith(refusal) ? refusal : message.replace(/[\s:]*['"`{(].*$/s, ' …').trimStart();
}

function firstGroup(forms: readonly RegExp[], text: string): string | null {
  for (const form of isShort(text) ? forms : []) {
    const found = form.exec(text.trim())?.[1];
    if (found !== undefined) return found;
  }
  return null;
}

function matchesAny(forms: readonly RegExp[], text: string): boolean {
  return isShort(text) && forms.some((form) => form.test(text.trim()));
}

/** Long keys are no references. */
function isShort(text: string): boolean {
  return text.length <= 256;
}
