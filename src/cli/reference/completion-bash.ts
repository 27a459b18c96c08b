import { type CommandOutline, commandsIn, optionsAt, quoted, type Values } from './outline.ts';

/** The script that `culvert completion bash` prints. It starts no process: everything is in its tables. */
export function bashCompletion(program: CommandOutline): string {
  const commands = commandsIn(program);
  const path = ({ words }: CommandOutline) => words.map((word) => ` ${word}`).join('');
  const withValue = commands.flatMap((command) =>
    optionsAt(program, command)
      .filter(({ value }) => value !== null)
      .map(({ long, values }) => ({ pattern: `${path(command)} ${long}`, values })),
  );
  const places = commands.flatMap((command) =>
    command.arguments.map(({ values }, at) => ({ pattern: `${path(command)} ${at}`, values })),
  );
  return `# Completion of culvert for bash: source <(culvert completion bash)
_culvert() {
  local word=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD - 1]} at each path= place=0 skip= only=
  # --name=value comes as three words.
  if [[ $word == '=' ]]; then word=; elif [[ $before == '=' ]]; then before=\${COMP_WORDS[COMP_CWORD - 2]}; fi
  for ((at = 1; at < COMP_CWORD; at++)); do
    each=\${COMP_WORDS[at]}
    if [[ $each == '=' ]]; then skip=1; continue; fi
    if [[ $skip ]]; then skip=; continue; fi
    case "$path $each" in
      ${patterns(commands.filter(({ words }) => words.length > 0).map(path))}) path="$path $each" place=0 ;;
      ${patterns(withValue.map(({ pattern }) => pattern))}) skip=1 ;;
      *' -'*) ;;
      *) ((place++)) ;;
    esac
  done
  if [[ $word == -* ]]; then
    case "$path" in
${commands
  .map(
    (command) =>
      `      ${quoted(path(command))}) only=${quoted(
        optionsAt(program, command)
          .map(({ long }) => long)
          .join(' '),
      )} ;;`,
  )
  .join('\n')}
    esac
  else
    case "$path $before" in
${withValue.map(({ pattern, values }) => `      ${quoted(pattern)}) ${offered(values)} ;;`).join('\n')}
      *) case "$path $place" in
${places.map(({ pattern, values }) => `        ${quoted(pattern)}) ${offered(values)} ;;`).join('\n')}
${commands
  .filter((command) => command.commands.length > 0)
  .map((command) => `        ${quoted(`${path(command)} 0`)}) only=${quoted(namesOf(command).join(' '))} ;;`)
  .join('\n')}
      esac ;;
    esac
  fi
  if [[ $only == '<file>' ]]; then
    compopt -o filenames 2>/dev/null
    only=$(compgen -f -- "$word")
  else
    only=$(compgen -W "$only" -- "$word")
  fi
  local IFS=$'\n'
  COMPREPLY=($only)
}
complete -F _culvert culvert
`;
}

function namesOf({ commands }: CommandOutline): string[] {
  return commands.flatMap(({ words }) => words.slice(-1));
}

function offered(values: Values): string {
  if (values === 'unknown') return 'only=';
  return `only=${quoted(values === 'file' ? '<file>' : values.join(' '))}`;
}

function patterns(paths: readonly string[]): string {
  return paths.map(quoted).join('|');
}
