/** Answers to what clients of SCIM ask of a server (RFC 7643 §5 to §7). */

const core = 'urn:ietf:params:scim:schemas:core:2.0';

export function serviceProviderConfig(base: string, maxResults: number): object {
  return {
    schemas: [`${core}:ServiceProviderConfig`],
    patch: { supported: true },
    bulk: { supported: false, maxOperations: 0, maxPayloadSize: 0 },
    filter: { supported: true, maxResults },
    changePassword: { supported: false },
    sort: { supported: false },
    etag: { supported: false },
    authenticationSchemes: [
      { type: 'oauthbearertoken', name: 'Bearer token', description: 'The token of dashboard.scim.', primary: true },
    ],
    meta: { resourceType: 'ServiceProviderConfig', location: `${base}/ServiceProviderConfig` },
  };
}

export function resourceTypes(base: string): { id: string }[] {
  return ['User', 'Group'].map((name) => ({
    schemas: [`${core}:ResourceType`],
    id: name,
    name,
    endpoint: `/${name}s`,
    schema: `${core}:${name}`,
    meta: { resourceType: 'ResourceType', location: `${base}/ResourceTypes/${name}` },
  }));
}

export function schemas(base: string): { id: string }[] {
  const user = [
    attribute('userName', 'string', { required: true, uniqueness: 'server' }),
    attribute('externalId', 'string', { caseExact: true }),
    attribute('displayName', 'string'),
    attribute('active', 'boolean'),
    attribute('name', 'complex', {
      subAttributes: ['formatted', 'familyName', 'givenName'].map((name) => attribute(name, 'string')),
    }),
    attribute('emails', 'complex', {
      multiValued: true,
      subAttributes: [attribute('value', 'string'), attribute('type', 'string'), attribute('primary', 'boolean')],
    }),
  ];
  const group = [
    attribute('displayName', 'string', { required: true, uniqueness: 'server' }),
    attribute('externalId', 'string', { caseExact: true }),
    attribute('members', 'complex', { multiValued: true, subAttributes: [attribute('value', 'string')] }),
  ];
  return [schema('User', user, base), schema('Group', group, base)];
}

function schema(name: string, attributes: readonly object[], base: string) {
  const id = `${core}:${name}`;
  const schema = `${core}:Schema`;
  return {
    schemas: [schema],
    id,
    name,
    attributes,
    meta: { resourceType: 'Schema', location: `${base}/Schemas/${id}` },
  };
}

function attribute(name: string, type: string, more: object = {}): object {
  const usual = { required: false, multiValued: false, caseExact: false, mutability: 'readWrite', returned: 'default' };
  return { name, type, ...usual, uniqueness: 'none', ...more };
}
