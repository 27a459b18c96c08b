/** A shorter secret in another spelling would be found in texts without it. */
const spelledCharsMin = 8;

/** A secret as an upstream may repeat it: as it is, within JSON, within a URL, in base64. */
export function spellingsOf(secret: string): string[] {
  if (secret.length < spelledCharsMin) return [secret];
  const inJson = JSON.stringify(secret).slice(1, -1);
  const spellings = [secret, inJson, inJson.replaceAll('/', '\\/'), encodeURIComponent(secret.toWellFormed())];
  return [...new Set([...spellings, Buffer.from(secret).toString('base64')])];
}

/** A JSON Web Token, which proves what it was made for. */
const webToken = /\beyJ[\w-]{6,}(?:\.[\w-]*){0,2}/g;

/** Secrets that services mark by how they begin; `*` and `…` because some print them half masked. */
export const markedSecrets: readonly RegExp[] = [
  /\b(?:sk|pk|rk|gsk|xai|hf|nvapi|fw|pplx|r8|tgp|jina|gh[oprsu]|github_pat|xox[abeprs]|ya29|glpat|dop_v1|csk)[-_.][\w*….-]{6,}/gi,
  /\bAIza[\w-]{10,}/g,
  /\b(?:AKIA|ASIA)[A-Z0-9]{12,}/g,
  webToken,
];

/** Words of a service that was sent these secrets: it may repeat them, in any of their spellings. */
export function withoutSecrets(text: string, secrets: readonly (string | undefined)[]): string {
  const known = secrets.flatMap((secret) => (secret === undefined || secret === '' ? [] : spellingsOf(secret)));
  return known.reduce((left, secret) => left.replaceAll(secret, '[redacted]'), text).replace(webToken, '[redacted]');
}
