import { type CommandOutline, commandsIn, type OptionOutline, optionsAt, type Values } from './outline.ts';

/** The script that `culvert completion fish` prints: a line for each thing that fits at a place. */
export function fishCompletion(program: CommandOutline): string {
  const commands = commandsIn(program);
  const withValue = commands.flatMap((command) =>
    optionsAt(program, command)
      .filter(({ value }) => value !== null)
      .map(({ long }) => quoted(`${path(command)} ${long}`)),
  );
  const lines = commands.flatMap((command) => [
    ...optionsAt(program, command).map((option) => optionLine(command, option)),
    ...command.commands.map((each) => line(at(command, 0), `-a ${each.words.at(-1)} -d ${quoted(each.description)}`)),
    ...command.arguments.flatMap(({ values }, place) =>
      values === 'unknown' ? [] : [line(at(command, place), values === 'file' ? '-F' : `-a ${offered(values)}`)],
    ),
  ]);
  return `# Completion of culvert for fish: culvert completion fish | source
# True where the command is $argv[1] and, if that is given, its arguments before the cursor are $argv[2].
function __culvert_at
    set -l path ''
    set -l place 0
    set -l skip 0
    for word in (commandline -opc)[2..]
        if test $skip = 1
            set skip 0
        else if contains -- "$path $word" ${commands
          .slice(1)
          .map((command) => quoted(path(command)))
          .join(' ')}
            set path "$path $word"
            set place 0
        else if contains -- "$path $word" ${withValue.join(' ')}
            set skip 1
        else if not string match -q -- '-*' $word
            set place (math $place + 1)
        end
    end
    test "$path" = "$argv[1]"; and begin; test (count $argv) = 1; or test $place = $argv[2]; end
end

complete -c culvert -e
complete -c culvert -f
${lines.join('\n')}
`;
}

function path({ words }: CommandOutline): string {
  return words.map((word) => ` ${word}`).join('');
}

function optionLine(command: CommandOutline, { long, short, value, values, description }: OptionOutline): string {
  const name = `${short === null ? '' : `-s ${short.slice(1)} `}-l ${long.slice(2)}`;
  const takes =
    value === null ? '' : values === 'file' ? ' -r -F' : values === 'unknown' ? ' -x' : ` -x -a ${offered(values)}`;
  return line(at(command, null), `${name}${takes} -d ${quoted(description)}`);
}

function line(condition: string, rest: string): string {
  return `complete -c culvert -n ${quoted(condition)} ${rest}`;
}

/** `place`: how many arguments come before the cursor; null: any number. */
function at(command: CommandOutline, place: number | null): string {
  return `__culvert_at "${path(command)}"${place === null ? '' : ` ${place}`}`;
}

function offered(values: Exclude<Values, string>): string {
  return quoted(values.join(' '));
}

/** Fish knows backslashes inside of single quotes. */
function quoted(text: string): string {
  return `'${text.replace(/['\\]/g, '\\$&')}'`;
}
