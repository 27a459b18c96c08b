import { z } from 'zod';
import type { SamlConfig } from '../../../config/schema/schema-dashboard.ts';
import { hasText } from '../../../kernel/json.ts';
import { groupsIn, type Identity } from '../identity.ts';
import { samlIssuer } from '../operator.ts';

/** Conditions that a signed assertion must meet here and now. */
export interface Expected {
  /** Entity ID of the identity provider. */
  issuer: string;
  /** Address that it was sent to. */
  recipient: string;
  /** Id of the request that this browser began with; null: it began with none. */
  requestId: string | null;
  /** Assertions that answer no request. */
  unsolicited: 'accepted' | 'refused';
  nowMs: number;
  skewMs: number;
  /** Longest time from its issue. */
  ageMsMax: number;
}

/** An assertion that may be used once. */
export interface SignedIdentity {
  identity: Identity;
  assertionId: string;
  /** Wall-clock ms until which it would be accepted again, were it not remembered. */
  endsMs: number;
}

type Refused = { why: string };

const attribute = z.object({ $: z.object({ Name: z.string() }), AttributeValue: z.array(z.unknown()).optional() });

const confirmation = z.object({
  $: z.object({ Method: z.string() }),
  SubjectConfirmationData: z
    .tuple([
      z.object({
        $: z.object({
          Recipient: z.string().optional(),
          NotOnOrAfter: z.string().optional(),
          InResponseTo: z.string().optional(),
        }),
      }),
    ])
    .optional(),
});

/** The needed part of an assertion, as xml2js makes a tree of it. A tuple of one: twice is not once. */
const signedAssertion = z.object({
  Assertion: z.object({
    $: z.object({ ID: z.string().min(1).max(1_024), IssueInstant: z.string() }),
    Issuer: z.tuple([z.object({ _: z.string() })]),
    Subject: z.tuple([
      z.object({
        NameID: z.tuple([
          z.object({ _: z.string().min(1).max(1_024), $: z.object({ Format: z.string().optional() }).optional() }),
        ]),
        SubjectConfirmation: z.array(confirmation).min(1).max(10),
      }),
    ]),
    Conditions: z.tuple([z.object({ $: z.object({ NotOnOrAfter: z.string() }) })]),
    AttributeStatement: z.array(z.object({ Attribute: z.array(attribute).optional() }).or(z.string())).optional(),
  }),
});

type Assertion = z.output<typeof signedAssertion>['Assertion'];
type Confirmation = z.output<typeof confirmation>;

const bearer = 'urn:oasis:names:tc:SAML:2.0:cm:bearer';
const transientFormat = 'urn:oasis:names:tc:SAML:2.0:nameid-format:transient';

/**
 * The identity in a signed assertion, whose signature, audience and conditions of time the library has checked; or why
 * it is refused, a sentence for the log.
 */
export function signedIdentity(tree: unknown, expected: Expected, config: SamlConfig): SignedIdentity | Refused {
  const parsed = signedAssertion.safeParse(tree);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    return { why: `the assertion lacks a part or has it twice (${issue?.path.join('.')}: ${issue?.message})` };
  }
  const assertion = parsed.data.Assertion;
  const issuer = assertion.Issuer[0]._;
  if (issuer !== expected.issuer) return { why: `the assertion is of the issuer '${issuer.slice(0, 200)}'` };
  const nameId = assertion.Subject[0].NameID[0];
  if (nameId.$?.Format === transientFormat) {
    return { why: 'the NameID is transient, another one at each login: send a persistent one, or an e-mail address' };
  }
  const refusals = assertion.Subject[0].SubjectConfirmation.map((one) => confirmationRefusal(one, expected));
  if (!refusals.includes(null)) return { why: refusals.join('; ') };
  return { identity: identityOf(assertion, config), assertionId: assertion.$.ID, endsMs: endOf(assertion, expected) };
}

/** Null: this browser may use the assertion now. */
function confirmationRefusal({ $, SubjectConfirmationData: data }: Confirmation, expected: Expected): string | null {
  if ($.Method !== bearer) return `the confirmation is by ${$.Method.slice(0, 100)}`;
  const { Recipient, NotOnOrAfter = '', InResponseTo } = data?.[0].$ ?? {};
  if (Recipient !== expected.recipient) return `the recipient is '${Recipient?.slice(0, 200)}'`;
  if (!(Date.parse(NotOnOrAfter) + expected.skewMs > expected.nowMs)) return 'the confirmation is over';
  if (InResponseTo === undefined) {
    return expected.unsolicited === 'accepted' ? null : 'it answers no request, and idp_initiated is off';
  }
  return InResponseTo === expected.requestId ? null : 'it answers a request that this browser did not begin';
}

/** The last instant at which the library or the confirmations would let it in. */
function endOf({ $, Conditions }: Assertion, { ageMsMax, skewMs }: Expected): number {
  return Math.min(Date.parse($.IssueInstant) + ageMsMax, Date.parse(Conditions[0].$.NotOnOrAfter)) + skewMs;
}

/** Entra ID's, in place of more than 150 groups. */
const groupsLink = 'http://schemas.microsoft.com/claims/groups.link';

function identityOf(assertion: Assertion, config: SamlConfig): Identity {
  const issuer = samlIssuer + assertion.Issuer[0]._;
  const subject = assertion.Subject[0].NameID[0]._;
  const [email = null] = valuesOf(assertion, config.email_attribute);
  const [name = subject] = valuesOf(assertion, config.name_attribute);
  const groups = groupsIn(valuesOf(assertion, config.groups_attribute));
  const isWithheld = groups.length === 0 && valuesOf(assertion, groupsLink).length > 0;
  return {
    issuer,
    subject,
    name: email ?? name,
    username: subject,
    email,
    groups,
    ...(isWithheld && { groupsWithheld: true }),
  };
}

/** Texts of all attributes of this name. */
function valuesOf({ AttributeStatement: statements = [] }: Assertion, name: string): string[] {
  return statements
    .flatMap((one) => (typeof one === 'string' ? [] : (one.Attribute ?? [])))
    .filter(({ $ }) => $.Name === name)
    .flatMap(({ AttributeValue: values = [] }) => values)
    .map((value) => (typeof value === 'string' ? value : (value as { _?: unknown } | null)?._))
    .filter(hasText);
}
