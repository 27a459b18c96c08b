import assert from 'node:assert/strict';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { parse, parseAllDocuments, stringify } from 'yaml';
import { checkConfigText } from '../../src/config/check.ts';
import { formatProblem } from '../../src/config/problem.ts';
import { temporaryFolder } from '../start-process.ts';
import { deploy, programsMissing, root, runProgram } from './tools.ts';

const chart = join(deploy, 'helm', 'culvert');
const skip = programsMissing('helm', 'kubectl-validate');

/** The parts of Kubernetes manifests that tests look at. */
interface Manifest {
  kind: string;
  metadata: { name: string };
  data: Record<string, string>;
  spec: {
    replicas?: number;
    template: {
      spec: {
        containers: Record<string, unknown>[];
        volumes: { name: string }[];
        securityContext: Record<string, unknown>;
      };
    };
  };
}

function render(t: TestContext, values: object): { code: number | null; said: string; text: string; all: Manifest[] } {
  const file = join(temporaryFolder(t), 'values.yaml');
  writeFileSync(file, stringify(values));
  const { code, stdout, said } = runProgram('helm', ['template', 'my', chart, '--values', file]);
  const all = code === 0 ? parseAllDocuments(stdout).map((one) => one.toJS() as Manifest) : [];
  return { code, said, text: stdout, all };
}

const one = { replicas: 1, persistence: { enabled: true }, config: { storage: null, vectors: null } };
const everything = {
  autoscaling: { enabled: true },
  ingress: { enabled: true, className: 'nginx', tlsSecret: 'tls' },
  monitoring: { serviceMonitor: true, rules: true, dashboards: true, labels: { release: 'prometheus' } },
  networkPolicy: { from: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'ingress' } } }] },
  env: { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://jaeger:4318' },
  tolerations: [{ key: 'a', operator: 'Exists' }],
  nodeSelector: { a: 'b' },
  imagePullSecrets: [{ name: 'registry' }],
  podAnnotations: { a: 'b' },
  include: { configMaps: ['team.models', 'more'], secrets: ['team-keys'] },
};

test('helm lint has nothing to say', { skip }, () => {
  const { code, said } = runProgram('helm', ['lint', '--strict', chart]);
  assert.equal(code, 0, said);
});

test('the chart installs the version that stands here', () => {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const { appVersion } = parse(readFileSync(join(chart, 'Chart.yaml'), 'utf8'));
  assert.equal(appVersion, version);
});

test('the CronJob of docs/backup.md asks the port that the chart publishes', () => {
  const { service } = parse(readFileSync(join(chart, 'values.yaml'), 'utf8'));
  const [, url] = /(http:\/\/culvert\S*)\/admin\/v1\/backup/.exec(readFileSync(join(root, 'docs/backup.md'), 'utf8'))!;
  assert.equal(Number(new URL(url!).port || 80), service.port);
});

for (const [name, values] of Object.entries({ default: {}, 'one replica': one, everything }))
  test(`Kubernetes takes what the chart makes: ${name}`, { skip }, (t) => {
    const { code, said, text } = render(t, values);
    assert.equal(code, 0, said);
    const folder = temporaryFolder(t);
    writeFileSync(join(folder, 'all.yaml'), text);
    const crds = join(root, '.test-tools', 'deploy', 'crds');
    const checked = runProgram('kubectl-validate', [folder, '--version', '1.30', '--local-crds', crds]);
    assert.equal(checked.code, 0, checked.said);
  });

test('the configuration of the chart is a valid culvert.yaml', { skip }, (t) => {
  const env = {
    DATABASE_URL: 'postgres://culvert:secret@db/culvert',
    REDIS_URL: 'redis://cache:6379',
    CULVERT_SECRET_KEY: 'thirty-two-bytes-or-more-of-a-secret',
    CULVERT_ADMIN_KEY: 'sk-cv-admin-the-key-of-the-operator',
  };
  for (const values of [{}, one]) {
    const text = render(t, values).all.find(({ kind }) => kind === 'ConfigMap')!.data['culvert.yaml']!;
    const checked = checkConfigText(text, 'culvert.yaml', env);
    assert.ok(checked.ok, checked.ok ? '' : checked.errors.map(formatProblem).join('\n'));
    assert.deepEqual(checked.warnings.map(formatProblem), []);
  }
});

test('pods run without root, rights or a writable root, and no secret stands in the manifests', { skip }, (t) => {
  const { all } = render(t, {});
  const { containers, securityContext } = all.find(({ kind }) => kind === 'Deployment')!.spec.template.spec;
  assert.equal(securityContext.runAsNonRoot, true);
  assert.deepEqual(containers[0]!.securityContext, {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ['ALL'] },
  });
  assert.deepEqual(containers[0]!.envFrom, [{ secretRef: { name: 'culvert' } }]);
  assert.ok(!all.some(({ kind }) => kind === 'Secret'));
  assert.deepEqual(
    all.map(({ kind }) => kind).sort(),
    ['ConfigMap', 'Deployment', 'NetworkPolicy', 'PodDisruptionBudget', 'Service'].sort(),
  );
});

test("the user of pods is the image's, or OpenShift's where it chooses one", { skip }, (t) => {
  const of = (values: object) =>
    render(t, values).all.find(({ kind }) => kind === 'Deployment')!.spec.template.spec.securityContext;
  const seccompProfile = { type: 'RuntimeDefault' };
  const groups = { runAsGroup: 10001, fsGroup: 10001, fsGroupChangePolicy: 'OnRootMismatch' };
  assert.deepEqual(of({}), { runAsNonRoot: true, runAsUser: 10001, ...groups, seccompProfile });
  assert.deepEqual(of({ podSecurityContext: null }), { runAsNonRoot: true, seccompProfile });
  const user = { runAsUser: 5, ...groups };
  assert.deepEqual(of({ podSecurityContext: { runAsUser: 5 } }), { runAsNonRoot: true, ...user, seccompProfile });
  assert.notEqual(render(t, { podSecurityContext: { runAsUser: 0 } }).code, 0);
});

test('ConfigMaps and Secrets of include are mounted as folders that culvert.yaml names', { skip }, (t) => {
  const config = { ...one.config, include: ['/data/own.yaml'] };
  const { all, said } = render(t, { ...one, config, include: everything.include });
  const text = all.find(({ kind }) => kind === 'ConfigMap')?.data['culvert.yaml'];
  assert.ok(text !== undefined, said);
  const folders = ['configmap-team.models', 'configmap-more', 'secret-team-keys'].map(
    (n) => `/etc/culvert-include/${n}`,
  );
  assert.deepEqual(parse(text).include, ['/data/own.yaml', ...folders]);
  const { containers, volumes } = all.find(({ kind }) => kind === 'Deployment')!.spec.template.spec;
  const mounts = containers[0]!.volumeMounts as { name: string; mountPath: string; subPath?: string }[];
  // Files of a subPath stay as they were at the start of the pod.
  assert.ok(mounts.every(({ subPath }) => subPath === undefined));
  for (const folder of folders) {
    const mount = mounts.find(({ mountPath }) => mountPath === folder);
    assert.ok(
      volumes.some(({ name }) => name === mount?.name),
      folder,
    );
  }
});

test('the autoscaler decides the number of replicas where there is one, by a metric that the adapter makes', {
  skip,
}, (t) => {
  const { all, text } = render(t, everything);
  assert.equal(all.find(({ kind }) => kind === 'Deployment')!.spec.replicas, undefined);
  const adapter = readFileSync(join(deploy, 'prometheus', 'adapter.yaml'), 'utf8');
  assert.match(text, /metric:\s*\{?\s*name: culvert_running_requests/);
  assert.match(adapter, /name: \{ as: culvert_running_requests \}/);
});

test('what would lose data, or is no value at all, is refused with a sentence', { skip }, (t) => {
  for (const [values, words] of [
    [{ config: { storage: null } }, 'replicas share PostgreSQL and Redis'],
    [{ persistence: { enabled: true } }, 'persistence is for replicas: 1'],
    [{ ...one, persistence: { enabled: false } }, 'would be gone with the pod'],
    [{ replica: 3 }, 'replica'],
    [{ replicas: 'three' }, 'replicas'],
    [{ existingSecret: '' }, 'existingSecret'],
  ] as const) {
    const { code, said } = render(t, values);
    assert.notEqual(code, 0, JSON.stringify(values));
    assert.ok(said.includes(words), said);
  }
});

test('an upgrade with the values of an earlier chart (--reuse-values) has the path and the user of the image', {
  skip: programsMissing('helm'),
}, (t) => {
  const folder = join(temporaryFolder(t), 'culvert');
  cpSync(chart, folder, { recursive: true });
  const { include: _, podSecurityContext: user, ...values } = parse(readFileSync(join(chart, 'values.yaml'), 'utf8'));
  delete values.ingress.path;
  writeFileSync(
    join(folder, 'values.yaml'),
    JSON.stringify({ ...values, ingress: { ...values.ingress, enabled: true } }),
  );
  const { code, stdout, said } = runProgram('helm', ['template', 'my', folder]);
  assert.equal(code, 0, said);
  const all = parseAllDocuments(stdout).map((each) => each.toJS());
  const deployment = all.find(({ kind }) => kind === 'Deployment') as Manifest;
  const { seccompProfile: _profile, ...context } = deployment.spec.template.spec.securityContext;
  assert.deepEqual(context, { runAsNonRoot: true, ...user });
  const { rules } = all.find(({ kind }) => kind === 'Ingress').spec;
  assert.equal(rules[0].http.paths[0].path, '/');
});
