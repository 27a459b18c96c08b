// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these texts are culvert.yaml, whose references look like this
import assert from 'node:assert/strict';
import test from 'node:test';
import { checkConfigText } from './check.ts';
import { formatProblem } from './problem.ts';

function errorsOf(text: string, env: Record<string, string> = {}): string[] {
  const result = checkConfigText(text, 'culvert.yaml', env);
  return result.ok ? [] : result.errors.map(formatProblem);
}

test('a reference of another program is refused as a credential, with its place and the right form', () => {
  for (const written of [
    'env:ACME_KEY',
    'env.ACME_KEY',
    'os.environ/ACME_KEY',
    'process.env.ACME_KEY',
    '{env:ACME_KEY}',
    '{{ env.ACME_KEY }}',
    '$ACME_KEY',
    '$(ACME_KEY)',
    '$env:ACME_KEY',
    '%ACME_KEY%',
    'env://ACME_KEY',
    ' env:ACME_KEY ',
    'os.environ["ACME_KEY"]',
    'os.environ.get("ACME_KEY", "")',
    'os.getenv("ACME_KEY")',
    "env('ACME_KEY')",
    '{{ secrets.ACME_KEY }}',
    '{{ACME_KEY}}',
    '{ACME_KEY}',
    '#{ACME_KEY}',
    '%(ACME_KEY)s',
    '%env(ACME_KEY)%',
    '<ACME_KEY>',
    '@ACME_KEY@',
    '$$ACME_KEY',
    'ACME_KEY',
  ]) {
    const errors = errorsOf(`providers:\n  up: { type: openai, api_key: '${written.replaceAll("'", "''")}' }\n`);
    assert.equal(errors.length, 1, written);
    assert.match(errors[0]!, /^culvert\.yaml:2:23 providers\.up\.api_key: .* did you mean \$\{ACME_KEY\}/, written);
  }
});

test('files and secret managers of other programs are refused as well, with what Culvert reads instead', () => {
  const errorOf = (written: string) => errorsOf(`providers: { up: { type: openai, api_key: '${written}' } }`).join();
  for (const file of ['file:/run/secrets/acme', 'file:///run/secrets/acme', '/run/secrets/acme', '@/run/secrets/acme'])
    assert.match(errorOf(file), /did you mean \$\{file:\/run\/secrets\/acme\}/, file);
  for (const other of [
    'secret://acme',
    'op://team/acme/key',
    'aws-sm://acme',
    'ref+vault://acme',
    '@Microsoft.KeyVault(SecretUri=https://v.example/acme)',
    'ENC[AES256_GCM,data:x]',
    '$(cat /run/secrets/acme)',
  ])
    assert.match(errorOf(other), /put the secret into a variable or a file, and write \$\{NAME\}/, other);
  for (const [managed, meant] of [
    ['vault://secret/acme', '${vault:secret/acme}'],
    ['vault:secret/data/acme#key', '${vault:secret/data/acme#key}'],
    ['arn:aws:secretsmanager:eu-west-1:1:secret:acme', '${aws:arn:aws:secretsmanager:eu-west-1:1:secret:acme}'],
    ['projects/p/secrets/acme/versions/latest', '${gcp:projects/p/secrets/acme/versions/latest}'],
    ['@Microsoft.KeyVault(SecretUri=https://v.vault.azure.net/secrets/acme/)', '${azure:v/acme}'],
  ] as const)
    assert.ok(errorOf(managed).includes(`did you mean ${meant} in culvert.yaml?`), errorOf(managed));
});

test('a name that another program has put into braces of ours is named', () => {
  for (const written of ['${env.ACME_KEY}', '${env:ACME_KEY}', '${{ secrets.ACME_KEY }}'])
    assert.match(
      errorsOf(`providers: { up: { type: openai, api_key: '${written}' } }`).join(),
      /did you mean \$\{ACME_KEY\}\?$/,
      written,
    );
});

test('every credential is looked at: those of lists, clouds, headers, search engines and stores', () => {
  for (const [text, path] of [
    ['providers: { up: { type: openai, credentials: [{ api_key: $UP_KEY }] } }', 'providers.up.credentials[0].api_key'],
    [
      'providers: { up: { type: openai, headers: { authorization: Bearer $UP_KEY } } }',
      'providers.up.headers.authorization',
    ],
    [
      'providers: { up: { type: azure-openai, base_url: "https://a.example", entra: { client_secret: $UP_KEY } } }',
      'providers.up.entra.client_secret',
    ],
    ['tools: { search: { providers: [{ type: brave, api_key: env:UP_KEY }] } }', 'tools.search.providers[0].api_key'],
    ['vectors: { engine: qdrant, url: "http://q:6333", api_key: os.environ/UP_KEY }', 'vectors.api_key'],
    ['storage: { secret: env:UP_KEY }', 'storage.secret'],
  ] as const) {
    const errors = errorsOf(text);
    assert.equal(errors.length, 1, `${path}: ${errors.join('; ')}`);
    assert.ok(errors[0]!.includes(` ${path}: `) && errors[0]!.includes('did you mean ${UP_KEY}'), errors[0]!);
  }
});

test('what only resembles a reference is a secret', () => {
  for (const key of [
    '$ecret-Pa55',
    'env',
    '%41bc%',
    'sk-env:x',
    '$1abc',
    'environment:5',
    '$aBcDeF',
    '@Ab9',
    '/x8f+Zq==',
    '{a}',
    'A_B-C',
  ])
    assert.deepEqual(errorsOf(`providers: { up: { type: openai, api_key: '${key}' } }`), [], key);
  assert.deepEqual(errorsOf('providers: { up: { type: openai, api_key: "${KEY}" } }', { KEY: 'sk-1' }), []);
});

test('a path is allowed where one may be meant, and a reference is not', () => {
  const mtls = (key: string) =>
    errorsOf(`providers: { up: { type: openai, api_key: a, tls: { cert: /etc/a.pem, key: '${key}' } } }`);
  assert.deepEqual(mtls('/run/secrets/a.key'), []);
  assert.match(mtls('env:TLS_KEY').join(), /did you mean \$\{TLS_KEY\}/);
});

test('a variable whose value is a reference is refused, and its value is not shown', () => {
  const [error, ...others] = errorsOf('providers: { up: { type: openai, api_key: "${KEY}" } }', { KEY: 'env:HIDDEN' });
  assert.deepEqual(others, []);
  assert.match(error!, /api_key: this is a reference/);
  assert.doesNotMatch(error!, /HIDDEN/);
});

test('an id beside a secret may not be a reference of another program either', () => {
  const [error] = errorsOf(
    "providers: { up: { type: bedrock, aws: { access_key_id: 'os.environ/AWS_ID', secret_access_key: k } } }\n",
  );
  assert.match(error ?? '', /providers\.up\.aws\.access_key_id: .* did you mean \$\{AWS_ID\}/);
});

test('the placeholder of an example is refused as a credential, and words of a local server are not', () => {
  const errorOf = (written: string) => errorsOf(`providers: { up: { type: openai, api_key: '${written}' } }`).join();
  for (const placeholder of [
    'sk-...',
    'sk-…',
    'sk-proj-***',
    'sk-xxxx',
    'your-api-key',
    'YOUR_API_KEY_HERE',
    '<your key>',
  ])
    assert.match(errorOf(placeholder), /this is the placeholder of an example/, placeholder);
  for (const key of ['EMPTY', 'dummy', 'none', 'sk-xyz1', 'lm-studio', 'my-key-1', `sk-cv-test-${'x'.repeat(32)}`])
    assert.equal(errorOf(key), '', key);
});
