/** How other programs write a reference to a variable: LiteLLM, editors, shells, CI and Windows. */
const foreignForms: readonly RegExp[] = [
  /^(?:env|os\.environ|process\.env|ENV)[:./]([A-Za-z_]\w*)$/,
  /^os\.environ\[["']([A-Za-z_]\w*)["']\]$/,
  /^\{+ *(?:env[:.])([A-Za-z_]\w*) *\}+$/,
  /^\$\{\{ *(?:secrets|env|vars)\.([A-Za-z_]\w*) *\}\}$/,
  /^\$env:([A-Za-z_]\w*)$/i,
  // Names of variables are written in capitals; a password may begin with $ or %.
  /^\$([A-Z_][A-Z0-9_]{2,})$/,
  /^\$\(([A-Z_][A-Z0-9_]{2,})\)$/,
  /^%([A-Z_][A-Z0-9_]{2,})%$/,
];
const ownForm = /^\$\{[^}\n]*\}$/;

const refusal = 'this is a reference that Culvert does not read, so it would be sent as the secret';

/**
 * Why `text` cannot be a credential: it is a reference of another program, or one of ours where none are read (the admin
 * API). Null when it is neither.
 */
export function referenceRefusal(text: string): string | null {
  if (ownForm.test(text)) return 'references are read in culvert.yaml alone; here, give the secret itself';
  return foreignRefusal(text);
}

/** The same for a header, whose value may begin with a scheme; one of our own references may be meant literally there. */
export function headerRefusal(value: string): string | null {
  return foreignRefusal(value.replace(/^(?:Bearer|Basic|Token|Key) /i, ''));
}

function foreignRefusal(text: string): string | null {
  const name = foreignName(text);
  return name === null ? null : `${refusal}; did you mean \${${name}} in culvert.yaml?`;
}

/** The variable that `text` names in the form of another program; null when it names none. */
export function foreignName(text: string): string | null {
  // Long keys are no references.
  if (text.length > 256) return null;
  for (const form of foreignForms) {
    const name = form.exec(text)?.[1];
    if (name !== undefined) return name;
  }
  return null;
}

/** The message without the name, for a value that came from a variable: no value of one may be shown. */
export function withoutName(message: string): string {
  return message.startsWith(refusal) ? refusal : message;
}
