/** Everything that a provider can do wrong, as a table. */
import { CALLS, STREAM } from './faulty-fs.ts'
import type { Behaviour, Point } from './faulty-fs.ts'

/**
 * What an answer is worth: nothing can be known from it; it is as good as an honest one; it says
 * that no file is there; or it does not come.
 */
export type Word = 'unknown' | 'honest' | 'absent' | 'never'

/** One way to go wrong. */
export interface Fault {
  name: string
  /** Where it can strike. */
  points: readonly Point[]
  word: Word
  behave: Behaviour
  /** Whether it is tried at every place. */
  everywhere?: boolean
  /** Whether a stream stays at the point where it strikes. */
  sticks?: boolean
}

/** An object whose every property throws. */
const thorny: object = new Proxy({}, { get: (_, key) => {
  // A promise looks for `then` first; without this nothing of it would be reached.
  if (key === 'then') return undefined
  throw new Error(`fault: ${String(key)}`)
} })

/** Things that can be thrown, none of which can be turned into text without care. */
const projectiles: Readonly<Record<string, unknown>> = {
  'an error': new Error('fault'),
  'text': 'fault',
  'nothing': undefined,
  'a symbol': Symbol('fault'),
  'an object without a prototype': Object.create(null),
  'an object whose every property throws': thorny,
  'a revoked proxy': (() => {
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    return proxy as unknown
  })(),
  'an error whose message throws': Object.defineProperty(new Error(), 'message', { get() { throw new Error('fault') } }),
  'an error whose message is an object': Object.defineProperty(new Error(), 'message', { value: Object.create(null) }),
}

const NOWHERE: Behaviour = () => new Promise(() => {})
const info = (part: object): Behaviour => async honest => ({ ...await honest() as object, ...part })
const gives = (value: unknown): Behaviour => () => value
const named = (value: unknown): string => {
  if (value === thorny) return 'a thorny object'
  if (typeof value === 'symbol' || typeof value === 'function') return `a ${typeof value}`
  return typeof value === 'object' && value !== null ? Object.prototype.toString.call(value) : String(JSON.stringify(value))
}

/** The table. */
export const FAULTS: Fault[] = [
  ...Object.entries(projectiles).flatMap(([name, projectile]): Fault[] => [
    { name: `throws ${name}`, points: [...CALLS, 'iterator', ...STREAM, 'return'], word: 'unknown', everywhere: name === 'an error', behave: () => { throw projectile } },
    { name: `rejects with ${name}`, points: [...CALLS, ...STREAM, 'return'], word: 'unknown', everywhere: name === 'an error', behave: () => Promise.reject(projectile) },
  ]),
  { name: 'a thenable that throws', points: [...CALLS, ...STREAM, 'return'], word: 'unknown', behave: () => ({ then() { throw new Error('fault') } }) },
  { name: 'a thenable that cannot be asked', points: [...CALLS, ...STREAM], word: 'unknown', behave: () => Object.defineProperty({}, 'then', { get() { throw new Error('fault') } }) },
  { name: 'fails twice, then answers', everywhere: true, points: [...CALLS, ...STREAM], word: 'unknown', behave: () => ({ then(resolve: (value: unknown) => void, reject: (error: unknown) => void) { reject(new Error('fault')); reject(null); resolve({}) } }) },
  { name: 'answers twice, then fails', everywhere: true, points: [...CALLS, ...STREAM], word: 'honest', behave: honest => ({ then(resolve: (value: unknown) => void, reject: (error: unknown) => void) { void (honest() as Promise<unknown>).then(value => { resolve(value); resolve(undefined); reject(new Error('fault')) }, reject) } }) },
  { name: 'never settles', everywhere: true, points: [...CALLS, ...STREAM, 'return'], word: 'never', behave: NOWHERE },
  { name: 'a thenable that never calls back', points: [...CALLS, ...STREAM], word: 'never', behave: () => ({ then() {} }) },
  ...[undefined, null, 7, '', true, () => {}, {}, [], thorny].map((value): Fault => (
    { name: `resolves to ${named(value)}`, points: ['resolve'], word: 'unknown', behave: gives(value) }
  )),
  ...[null, 7, 'text', true, {}, [], thorny].map((value): Fault => (
    { name: `describes it as ${named(value)}`, points: ['stat', 'lstat'], word: 'unknown', behave: gives(value) }
  )),
  { name: 'describes it as undefined', everywhere: true, points: ['stat', 'lstat'], word: 'absent', behave: gives(undefined) },
  ...[undefined, null, 7, Symbol('file'), 'weird', 'constructor', '__proto__', '', thorny].map((type): Fault => (
    { name: `gives it the type ${named(type)}`, points: ['stat', 'lstat'], word: 'unknown', behave: info({ type }) }
  )),
  ...[undefined, null, 7, {}, '', '\ud800', 'v'.repeat(70_000), thorny].map((version): Fault => (
    { name: `gives it the version ${named(version).slice(0, 12)}`, points: ['stat', 'lstat'], word: 'honest', behave: info({ version }) }
  )),
  ...[Number.NaN, -1, Number.NEGATIVE_INFINITY, 0, '12', null, {}, 12n].map((size): Fault => (
    { name: `gives it the size ${typeof size === 'bigint' ? '12n' : String(size)}`, points: ['stat', 'lstat'], word: 'honest', behave: info({ size }) }
  )),
  ...[Number.POSITIVE_INFINITY, 1e300, 2 ** 53].map((size): Fault => (
    { name: `gives it the size ${size}`, points: ['stat', 'lstat'], word: 'unknown', behave: info({ size }) }
  )),
  { name: 'has a size that throws', points: ['stat', 'lstat'], word: 'unknown', behave: async honest => Object.defineProperty({ ...await honest() as object }, 'size', { get() { throw new Error('fault') } }) },
  ...[undefined, null, 7, {}, thorny, [7], { [Symbol.asyncIterator]: 7 }, { [Symbol.asyncIterator]: () => undefined }, { [Symbol.asyncIterator]: () => ({}) }].map((value, index): Fault => (
    { name: `streams ${named(value)} (${index})`, points: ['open'], word: 'unknown', behave: gives(value) }
  )),
  ...[undefined, 7, {}, thorny].map((value): Fault => (
    { name: `iterates by ${named(value)}`, points: ['iterator'], word: 'unknown', behave: gives(value) }
  )),
  ...[undefined, null, 7, {}, thorny, ...[7, null, Buffer.from('x'), {}, Object('x'), Symbol('x'), Promise.resolve('x')].map(value => ({ done: false, value }))].map((value, index): Fault => (
    { name: `yields ${named(value)} (${index})`, points: STREAM, word: 'unknown', behave: gives(value) }
  )),
  ...[undefined, null, 7].map((value): Fault => (
    { name: `closes with ${named(value)}`, points: ['return'], word: 'unknown', behave: gives(value) }
  )),
  { name: 'yields nothing without end', everywhere: true, points: STREAM, word: 'unknown', sticks: true, behave: gives({ done: false, value: '' }) },
  { name: 'yields text without end', everywhere: true, points: STREAM, word: 'unknown', sticks: true, behave: gives({ done: false, value: 'endless '.repeat(20) }) },
]
