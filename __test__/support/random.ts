/** A small seeded generator: the same seed gives the same scenario on every machine. */
export class Random {
  private state: number

  constructor(seed: number) {
    this.state = (seed ^ 0x9e3779b9) >>> 0
    for (let round = 0; round < 4; round++) this.next()
  }

  /** A number in [0, 1) (mulberry32). */
  next(): number {
    this.state = (this.state + 0x6d2b79f5) >>> 0
    let value = this.state
    value = Math.imul(value ^ (value >>> 15), value | 1)
    value ^= value + Math.imul(value ^ (value >>> 7), value | 61)
    return ((value ^ (value >>> 14)) >>> 0) / 4_294_967_296
  }

  /** An integer in [0, below). */
  below(below: number): number {
    return Math.floor(this.next() * below)
  }

  /** Whether something of probability `probability` happens. */
  chance(probability: number): boolean {
    return this.next() < probability
  }

  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)] as T
  }

  /** A random selection, in order. */
  some<T>(items: readonly T[], probability: number): T[] {
    return items.filter(() => this.chance(probability))
  }
}
