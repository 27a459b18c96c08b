// Installs what the full test run uses: Debian packages (as root, or with sudo), the Python SDKs, programs that Go builds,
// and the packages that run models, all at the same time. `npm test` works without them and names what it skipped at its
// end. nginx is what `npm run bench` compares with.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
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

const pythonPackages = [
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
];

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const tools = join(root, '.test-tools');
const programs = join(tools, 'bin');
const asRoot = process.getuid?.() === 0 ? [] : ['sudo'];

const [haveDebian] = await Promise.all([
  // Some of the packages are Python's.
  installDebian().then(async (installed) => {
    if (installed) await installPython();
    return installed;
  }),
  installModels(),
  buildS3().then(buildCollector),
]);
if (!haveDebian) {
  console.error(`Could not install ${packages.join(', ')}: this needs Debian or Ubuntu, and root or sudo.`);
  process.exit(1);
}

/** Resolves to whether the program passed. */
async function run([command, ...args], options) {
  const child = spawn(command, args, options);
  return once(child, 'exit').then(
    ([status]) => status === 0,
    () => false,
  );
}

async function installDebian() {
  const options = { stdio: 'inherit', env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } };
  const apt = (...args) => run([...asRoot, 'apt-get', ...args], options);
  return (await apt('update', '-qq')) && apt('install', '-y', '-qq', '--no-install-recommends', ...packages);
}

/** The Python SDKs stand beside the repository's packages, where only the tests look; a machine without pip skips them. */
async function installPython() {
  const command = ['python3', '-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--upgrade'];
  const installed = await run(
    [...command, '--root-user-action=ignore', '--target', join(tools, 'python'), ...pythonPackages],
    { stdio: ['ignore', 'inherit', 'ignore'] },
  );
  if (!installed)
    console.error('The Python SDKs could not be installed (python3 -m pip): their tests will be skipped.');
}

/** An S3 server that checks signatures, built from its Go module: 80 s on two cores. */
async function buildS3() {
  const built = await run(['go', 'install', 'github.com/versity/versitygw/cmd/versitygw@v1.8.0'], withGo());
  if (!built) console.error('versitygw could not be built (it needs Go): tests over S3 will be skipped.');
}

/** OpenTelemetry's collector, put together by its own builder: 90 s of CPU. */
async function buildCollector() {
  const commands = `go install go.opentelemetry.io/collector/cmd/builder@v0.160.0 &&
     "$GOBIN/builder" --config test/telemetry/collector-build.yaml && mv .test-tools/otelcol-sources/otelcol "$GOBIN"`;
  const built = await run(['sh', '-c', commands], withGo());
  if (!built) console.error('The collector could not be built (it needs Go): its test will be skipped.');
}

function withGo() {
  return { cwd: root, env: { ...process.env, GOBIN: programs }, stdio: ['ignore', 'ignore', 'inherit'] };
}

/** The packages that run models, as `culvert add` installs them: by the same lock, without any script of theirs. */
async function installModels() {
  const folder = join(tools, 'transformers');
  const extras = join(root, 'src', 'engines', 'extras');
  mkdirSync(folder, { recursive: true });
  copyFileSync(join(extras, 'runtime-package.json'), join(folder, 'package.json'));
  copyFileSync(join(extras, 'runtime-lock.json'), join(folder, 'package-lock.json'));
  const installed = await run(['npm', 'ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: folder,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  if (!installed) console.error('The packages that run models could not be installed: their tests will be skipped.');
}
