/** A body that no route may take, and what is wrong with it. */
export interface HostileBody {
  what: string;
  text: string;
}

/** JSON, and almost JSON, that costs a careless reader much or means two things (faults.md S35). */
export const hostileBodies: readonly HostileBody[] = [
  { what: 'open arrays', text: '['.repeat(1_000_000) },
  { what: 'arrays, closed again', text: `{"x":${'['.repeat(500_000)}${']'.repeat(500_000)}}` },
  { what: 'objects in objects', text: '{"a":'.repeat(60_000) },
  { what: 'an array', text: `[${'0,'.repeat(100_000)}0]` },
  { what: 'a million elements in a member', text: `{"x":[${'0,'.repeat(1_000_000)}0]}` },
  { what: 'as many elements as the loop reads', text: `{"x":[${'0,'.repeat(65_000)}0` },
  { what: 'as many new names as the loop reads', text: `{"x":[${names(4_000)}` },
  { what: 'more new names than that', text: `{"x":[${names(50_000)}` },
  { what: 'a text without an end', text: `{"x":"${'x'.repeat(300_000)}` },
  { what: 'a name twice', text: '{"id":1,"id":2}' },
  { what: '__proto__', text: '{"__proto__":{"polluted":true}}' },
  { what: 'half of a surrogate pair', text: '{"id":"\\ud800"}' },
  { what: 'a number beyond all', text: '{"id":1e999}' },
  { what: 'a number of 200,000 digits', text: `{"id":${'9'.repeat(200_000)}}` },
  { what: 'blanks, and nothing', text: ' '.repeat(200_000) },
  { what: 'a body that breaks off', text: '{"id":[1,2' },
  { what: 'no JSON', text: 'id=1&name=x' },
];

function names(count: number): string {
  return `${Array.from({ length: count }, (_, at) => `{"name-${at}":1}`).join(',')}]`;
}
