import assert from 'node:assert/strict';
import { test } from 'node:test';
import { one, two } from '../../../../test/saml-certificates.ts';
import { cert as ecCertificate } from '../../../../test/upstream-certificate.ts';
import { readIdpMetadata } from './idp-metadata.ts';

const nowMs = Date.parse('2026-06-01T00:00:00Z');
const base64 = (pem: string) => pem.replace(/-----[^-]+-----|\s/g, '');
const key = (pem: string, use = 'use="signing"') =>
  `<KeyDescriptor ${use}><KeyInfo><X509Data><X509Certificate>
    ${base64(pem)}</X509Certificate></X509Data></KeyInfo></KeyDescriptor>`;
const redirect = 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect';
const service = `<SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST" Location="https://id.example/post"/>
  <SingleSignOnService Binding="${redirect}" Location="https://id.example/sso?a=1&amp;b=2"/>`;

interface Parts {
  id?: string;
  keys?: string;
  services?: string;
  more?: string;
}

function entity({
  id = 'https://id.example',
  keys = key(one.cert),
  services = service,
  more = '',
}: Parts = {}): string {
  return `<EntityDescriptor entityID="${id}" ${more}>
    <SPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol">${key(two.cert)}</SPSSODescriptor>
    <IDPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol">${keys}${services}</IDPSSODescriptor>
  </EntityDescriptor>`;
}

test('metadata says who signs, with which certificates, and where logins go', () => {
  const read = readIdpMetadata(entity(), undefined, nowMs);
  assert.deepEqual([read.entityId, read.ssoUrl], ['https://id.example', 'https://id.example/sso?a=1&b=2']);
  assert.deepEqual(read.certificates.map(base64), [base64(one.cert)], 'of the provider, not of the service next to it');
  const prefixed = entity().replace(/<(\/?)(\w)/g, '<$1md:$2');
  assert.equal(readIdpMetadata(`<?xml version="1.0"?>${prefixed}`, undefined, nowMs).entityId, 'https://id.example');
});

test('two certificates may sign while a provider changes them; others do not', () => {
  const keys =
    key(one.cert) + key(two.cert, '') + key(one.cert) + key(two.cert, 'use="encryption"') + key(ecCertificate);
  assert.deepEqual(readIdpMetadata(entity({ keys }), undefined, nowMs).certificates.map(base64), [
    base64(one.cert),
    base64(two.cert),
  ]);
  const encryption = entity({ keys: key(one.cert, 'use="encryption"') });
  assert.throws(() => readIdpMetadata(encryption, undefined, nowMs), /no certificate with an RSA key/);
});

test('of many providers the entity id says which', () => {
  const many = `<EntitiesDescriptor>${entity()}${entity({ id: 'urn:two', keys: key(two.cert) })}</EntitiesDescriptor>`;
  assert.throws(() => readIdpMetadata(many, undefined, nowMs), /several identity providers: set idp\.entity_id/);
  assert.deepEqual(readIdpMetadata(many, 'urn:two', nowMs).certificates.map(base64), [base64(two.cert)]);
  assert.throws(() => readIdpMetadata(many, 'urn:three', nowMs), /no identity provider 'urn:three'/);
});

test('metadata that is over, or lacks a part, says so', () => {
  const valid = entity({ more: 'validUntil="2026-06-02T00:00:00Z"' });
  assert.equal(readIdpMetadata(valid, undefined, nowMs).entityId, 'https://id.example');
  const cases: [string, RegExp][] = [
    [entity({ more: 'validUntil="2026-05-31T00:00:00Z"' }), /no longer valid/],
    [entity({ more: 'validUntil="soon"' }), /no longer valid/],
    [entity({ id: '' }), /lacks an entityID/],
    [entity({ services: '' }), /no SingleSignOnService/],
    [entity({ services: `<SingleSignOnService Binding="${redirect}" Location="javascript:alert(1)"/>` }), /no Single/],
    ['<html>Log in</html>', /no identity provider of SAML 2\.0/],
    ['', /no identity provider/],
    [`<!DOCTYPE x [<!ENTITY e "${'x'.repeat(100)}">]>${entity({ id: '&e;' })}`, /^$/],
  ];
  for (const [xml, message] of cases.slice(0, -1)) {
    assert.throws(() => readIdpMetadata(xml, undefined, nowMs), { message }, xml.slice(0, 100));
  }
  const [withEntity = ''] = cases.at(-1) ?? [];
  assert.equal(readIdpMetadata(withEntity, undefined, nowMs).entityId, '&e;', 'entities are not expanded');
});
