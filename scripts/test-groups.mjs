// Test files that share a process: each takes two seconds of a core to load what the ones before it have loaded.
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

const folders =
  /^test\/(admin|batches|cli|clients|contract|conversion|faults|providers|responses|server-tools|simulation|stores|tools)\//;
/** What a file does to its whole process, measures of it, or waits for: servers of others, which take their time. */
const wantsAProcess =
  /(before|after)Each\(|\bmock\.|process\.(on|once|chdir|env\.\w+ *=|env\[|memoryUsage|cpuUsage|getActive)|memoryUsage|eventLoopUtilization|monitorEventLoopDelay|busyness|slowness|assertWithin|performance\.now|Missing\b|missingTool|setup:test-tools|alone in its process/;
const filesAGroup = 8;
/**
 * Node runs the hooks of a whole process once no test is left, so none may end before all files have named theirs.
 */
const untilAllAreThere = `import { test } from 'node:test';
const { promise, resolve } = Promise.withResolvers();
test('the files of this group are there', () => promise);`;

/**
 * What `node --test` runs for `files`, paths below `root`: groups of those that may share a process, as programs in
 * `folder` that import them, then the others. `members`: the files of each group, by the path of its program.
 */
export function groupsOf(files, root, folder) {
  const shared = files.filter(
    (file) => folders.test(file) && !wantsAProcess.test(readFileSync(join(root, file), 'utf8')),
  );
  const members = new Map();
  for (const place of new Set(shared.map(dirname))) {
    const beside = shared.filter((file) => dirname(file) === place);
    for (let at = 0; at < beside.length; at += filesAGroup) {
      const group = beside.slice(at, at + filesAGroup);
      const program = join(folder, `${place.replaceAll('/', '-')}-${at / filesAGroup}.test.mjs`);
      const imports = group.map((file) => `await import(${JSON.stringify(String(pathToFileURL(join(root, file))))});`);
      writeFileSync(program, `${[untilAllAreThere, ...imports, 'resolve();'].join('\n')}\n`);
      members.set(program, group);
    }
  }
  return { paths: [...members.keys(), ...files.filter((file) => !shared.includes(file))], members };
}
