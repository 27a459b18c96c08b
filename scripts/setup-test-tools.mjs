// Installs what the full test run uses: Debian packages (as root, or with sudo) and the Python SDKs. `npm test` works
// without them and names what it skipped at its end. nginx is what `npm run bench` compares with.
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const packages = [
  'slowhttptest',
  'iproute2',
  'nginx-light',
  'postgresql',
  'redis-server',
  'pgbouncer',
  'faketime',
  'ffmpeg',
  'espeak-ng',
  'searx',
  'chromium',
  'zsh',
  'fish',
  'man-db',
  'groff',
  'mandoc',
];

const asRoot = process.getuid?.() === 0 ? [] : ['sudo'];
const run = (command, args) =>
  spawnSync([...asRoot, command, ...args][0], [...asRoot, command, ...args].slice(1), {
    stdio: 'inherit',
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
  }).status;

if (
  run('apt-get', ['update', '-qq']) !== 0 ||
  run('apt-get', ['install', '-y', '-qq', '--no-install-recommends', ...packages]) !== 0
) {
  console.error(`Could not install ${packages.join(', ')}: this needs Debian or Ubuntu, and root or sudo.`);
  process.exit(1);
}

// The Python SDKs stand beside the repository's packages, where only the tests look; a machine without pip skips them.
const python = join(dirname(dirname(fileURLToPath(import.meta.url))), '.test-tools', 'python');
const pip = spawnSync(
  'python3',
  [
    '-m',
    'pip',
    'install',
    '--quiet',
    '--disable-pip-version-check',
    '--root-user-action=ignore',
    '--upgrade',
    '--target',
    python,
    'openai==3.57.0',
    'openai-agents==0.24.0',
    'anthropic==2.14.0',
    'google-genai==3.6.1',
    'qdrant-client==1.20.0',
    'firecrawl-py==4.55.0',
    'litellm-proxy-extras==0.4.110',
    // What `npm run conformance:peers` runs other gateways' tests with.
    'pytest==8.4.2',
    'pytest-asyncio==1.5.0',
    'pytest-timeout==2.4.0',
    'aiohttp==3.14.5',
    'boto3==1.44.8',
    'Pillow==13.0.0',
    'python-dotenv==1.2.4',
    'PyYAML==6.0.4',
    'requests==2.34.2',
    'websocket-client==1.9.2',
  ],
  { stdio: ['ignore', 'inherit', 'ignore'] },
);
if (pip.status !== 0)
  console.error('The Python SDKs could not be installed (python3 -m pip): their tests will be skipped.');

// An S3 server that checks signatures, built from its Go module: 80 s on two cores.
const go = spawnSync('go', ['install', 'github.com/versity/versitygw/cmd/versitygw@v1.8.0'], {
  env: { ...process.env, GOBIN: join(dirname(python), 'bin') },
  stdio: ['ignore', 'ignore', 'inherit'],
});
if (go.status !== 0) console.error('versitygw could not be built (it needs Go): tests over S3 will be skipped.');

// OpenTelemetry's collector, put together by its own builder: 90 s of CPU.
const collector = spawnSync(
  'sh',
  [
    '-c',
    `go install go.opentelemetry.io/collector/cmd/builder@v0.160.0 &&
     "$GOBIN/builder" --config test/telemetry/collector-build.yaml && mv .test-tools/otelcol-sources/otelcol "$GOBIN"`,
  ],
  {
    cwd: dirname(dirname(python)),
    env: { ...process.env, GOBIN: join(dirname(python), 'bin') },
    stdio: ['ignore', 'ignore', 'inherit'],
  },
);
if (collector.status !== 0) console.error('The collector could not be built (it needs Go): its test will be skipped.');

// The packages that run models, as `culvert add` installs them: by the same lock, without any script of theirs.
const transformers = join(dirname(python), 'transformers');
const extras = join(dirname(dirname(python)), 'src', 'engines', 'extras');
mkdirSync(transformers, { recursive: true });
copyFileSync(join(extras, 'runtime-package.json'), join(transformers, 'package.json'));
copyFileSync(join(extras, 'runtime-lock.json'), join(transformers, 'package-lock.json'));
const npm = spawnSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], {
  cwd: transformers,
  stdio: ['ignore', 'inherit', 'inherit'],
});
if (npm.status !== 0)
  console.error('The packages that run models could not be installed: their tests will be skipped.');
