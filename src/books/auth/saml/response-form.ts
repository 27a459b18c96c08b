/**
 * Limits for a response before any parser of XML sees it. The parsers and queries of SAML libraries take time by the
 * square of the number of elements: 64 KB of small ones take half a minute.
 */
const signsMax = { '<': 2_500, '=': 6_000 } as const;

const digests = ['http://www.w3.org/2001/04/xmlenc#sha256', 'http://www.w3.org/2001/04/xmlenc#sha512'];
const signatures = [
  'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256',
  'http://www.w3.org/2001/04/xmldsig-more#rsa-sha512',
  'http://www.w3.org/2007/05/xmldsig-more#sha256-rsa-MGF1',
];
const transforms = [
  'http://www.w3.org/2000/09/xmldsig#enveloped-signature',
  'http://www.w3.org/2001/10/xml-exc-c14n#',
  'http://www.w3.org/TR/2001/REC-xml-c14n-20010315',
];
const sha1 = ['http://www.w3.org/2000/09/xmldsig#sha1', 'http://www.w3.org/2000/09/xmldsig#rsa-sha1'];

/**
 * Why a response is not read at all: it has a DTD, a comment or another form that no identity provider needs, too many
 * parts, or an algorithm that is not accepted. Null when it may be read.
 */
export function responseRefusal(xml: string, hashes: { sha1: 'accepted' | 'refused' }): string | null {
  // Attacks on signatures hide in these: entities that grow, and comments that cut a name.
  if (xml.includes('<!')) return 'the response has a DTD, a comment or a CDATA section';
  if (xml.replace(/^\s*<\?xml\s[^>]*\?>/, '').includes('<?')) return 'the response has a processing instruction';
  for (const [sign, max] of Object.entries(signsMax)) {
    if (xml.split(sign, max + 2).length > max + 1) return `the response has more than ${max} '${sign}'`;
  }
  const allowed = [...digests, ...signatures, ...transforms, ...(hashes.sha1 === 'accepted' ? sha1 : [])];
  // Also finds what is no attribute, which can only refuse more.
  for (const [, algorithm = ''] of xml.matchAll(/Algorithm\s*=\s*["']([^"']*)["']/g)) {
    if (!allowed.includes(algorithm)) return `the response uses the algorithm '${algorithm.slice(0, 100)}'`;
  }
  return null;
}
