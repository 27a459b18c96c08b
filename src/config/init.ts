/** The file next to it that editors complete and check it by, as its first line says. */
export const initialSchemaName = 'culvert.schema.json';

/**
 * The commented culvert.yaml that `culvert init` writes. It passes the check as it is, without any variable: everything
 * that needs a decision is commented out.
 */
export function initialConfigText(): string {
  return text;
}

const text = `# yaml-language-server: $schema=./${initialSchemaName}
# Configuration of Culvert. Every key is optional; "culvert check" checks this file with line numbers, and editors
# complete it by the schema next to it (of a newer version: culvert check --schema > ${initialSchemaName}).
# All keys: docs/configuration.md. \${NAME} is an environment variable, \${NAME:-x} one with a default,
# \${file:/run/secrets/name} the content of a file. Changes are taken over while running.

server:
  host: \${CULVERT_HOST:-127.0.0.1}   # 0.0.0.0 lets other machines in; at least one key must exist then
  port: \${PORT:-4141}
  # body_limit: 32mb         # largest JSON request
  # drain_delay: 5s          # after SIGTERM serve as before, until a load balancer has seen /readyz answer 503
  # shutdown_grace: 30s      # then running streams may go on for so long
  # cors_origins: [https://app.example.org]

admin:
  key: \${CULVERT_ADMIN_KEY:-}   # empty: one is generated into the data folder

storage:
  data_dir: \${CULVERT_DATA_DIR:-./.culvert}

# Where requests can go. Without providers here, well-known keys in the environment (OPENAI_API_KEY,
# ANTHROPIC_API_KEY, …) configure them.
providers:
  # openai: { type: openai, api_key: "\${OPENAI_API_KEY}" }
  # claude: { type: anthropic, api_key: "\${ANTHROPIC_API_KEY}" }
  # local:  { type: ollama }
  # eu:
  #   type: openai
  #   base_url: https://eu.example/v1
  #   credentials:
  #     - { api_key: "\${EU_KEY_A}", weight: 3 }
  #     - { api_key: "\${EU_KEY_B}", rpm: 500 }
  #   timeouts: { connect: 3s, first_token: 30s, idle: 30s, total: 10m }

# The names that callers use. Without any, every model that a provider lists is one.
models:
  # smart:
  #   targets:
  #     - claude/claude-sonnet-5-5                            # tried first
  #     - { provider: openai, model: gpt-6.1-sol, priority: 2 } # when all of priority 1 failed
  #   fallbacks: [small]
  # small: { targets: [openai/gpt-6.1-terra] }
  # here: { targets: ["local/qwen3:8b"] }                     # what "ollama list" shows
  # "claude-*": { targets: ["claude/claude-*"] }    # what * matched carries over

# Keys that callers use, for tests and GitOps; "culvert keys create" makes others.
keys:
  # - { key: "\${DEV_KEY}", account: dev, name: laptop }

telemetry:
  log: { level: info }

simulator: auto              # labelled simulated answers where no provider is configured: auto | on | off
autodetect: ask              # model servers found on this machine: ask | on | off
`;
