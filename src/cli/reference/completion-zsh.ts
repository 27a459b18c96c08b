import { type CommandOutline, commandsIn, type OptionOutline, optionsAt, quoted, type Values } from './outline.ts';

/** The script that `culvert completion zsh` prints: a function for each command. */
export function zshCompletion(program: CommandOutline): string {
  const functions = commandsIn(program).map((command) => {
    const specs = optionsAt(program, command).map(optionSpec);
    return command.commands.length > 0 ? groupFunction(command, specs) : leafFunction(command, specs);
  });
  return `#compdef culvert
# Completion of culvert for zsh, after compinit: source <(culvert completion zsh)

${functions.join('\n\n')}

# Where a file of fpath holds this, it is called to complete; elsewhere it is sourced.
if [[ $funcstack[1] == _culvert ]]; then _culvert "$@"; else compdef _culvert culvert; fi
`;
}

function groupFunction(command: CommandOutline, specs: readonly string[]): string {
  const { commands } = command;
  const described = commands.map((each) => quoted(`${each.words.at(-1)}:${each.description}`));
  return `${functionName(command)}() {
  local curcontext=$curcontext state line ret=1
  local -a commands=(
    ${described.join('\n    ')}
  )
  _arguments -C \\
    ${[...specs, quoted('1:command:->command'), quoted('*::argument:->rest')].join(' \\\n    ')} && ret=0
  case $state in
    command) _describe command commands && ret=0 ;;
    rest) case $line[1] in
${commands.map((each) => `      ${each.words.at(-1)}) ${functionName(each)} && ret=0 ;;`).join('\n')}
    esac ;;
  esac
  return ret
}`;
}

function leafFunction(command: CommandOutline, specs: readonly string[]): string {
  const places = command.arguments.map(({ name, required, values }) =>
    quoted(`${required ? ':' : '::'}${name}:${action(values)}`),
  );
  return `${functionName(command)}() {
  _arguments \\
    ${[...specs, ...places].join(' \\\n    ')}
}`;
}

function optionSpec({ long, value, values, description }: OptionOutline): string {
  const text = description.replace(/[[\]\\:]/g, '\\$&');
  return quoted(value === null ? `${long}[${text}]` : `${long}=[${text}]:${value}:${action(values)}`);
}

function action(values: Values): string {
  if (values === 'unknown') return ' ';
  return values === 'file' ? '_files' : `(${values.join(' ')})`;
}

function functionName({ words }: CommandOutline): string {
  return ['_culvert', ...words].join('_');
}
