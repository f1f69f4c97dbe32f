/**
 * The lines of the table. A target is what the project has set itself against the
 * published package in the same run.
 */
import { blocked, longestBlock, mainThread } from './gauges.ts'
import { chain, crowded, deep, nested } from './layouts.ts'
import type { Case } from './measure.ts'
import { longPast } from './past.ts'
import { diskTree, memoryTree } from './trees.ts'
import { coldStart, editAndTouch, touchAll, warmStep } from './trials.ts'

const MIB = 1024 * 1024
const NOT_ASCII = 'Kleine Änderungen, große Wirkung: prüfe, was du änderst — 変更を確かめる。\n'

const inMemory = memoryTree()
const oneMillisecond = memoryTree(1)

const local: Case[] = [
  { name: 'local, warm step, depth 3', tree: diskTree, layout: chain(3), subject: warmStep(), target: 4 },
  { name: 'local, warm step, depth 8', tree: diskTree, layout: chain(8), subject: warmStep(), target: 5 },
  { name: 'local, cold baseline, depth 3', tree: diskTree, layout: chain(3), subject: coldStart(), target: 3 },
  { name: 'local, cold baseline, depth 8', tree: diskTree, layout: chain(8), subject: coldStart(), target: 4 },
  { name: 'local, first session of a mount, depth 3', tree: diskTree, layout: chain(3), subject: coldStart(1, 'each time') },
  { name: 'local, first session of a mount, depth 8', tree: diskTree, layout: chain(8), subject: coldStart(1, 'each time') },
  { name: 'local, 20 nested touches at once', tree: diskTree, layout: nested(20), subject: touchAll('at once'), target: 15 },
  { name: 'local, 20 nested touches released by step/end', tree: diskTree, layout: nested(20), subject: touchAll('by step/end'), target: 15 },
  { name: 'local, 64 sessions starting at once', tree: diskTree, layout: chain(3), subject: coldStart(64), target: 3 },
  { name: 'local, an edit and a touch', tree: diskTree, layout: nested(1), subject: editAndTouch() },
]

const distant: Case[] = [
  { name: '1 ms provider, cold baseline, depth 3', tree: oneMillisecond, layout: chain(3), subject: coldStart(), target: 10 },
  { name: '1 ms provider, cold baseline, depth 8', tree: oneMillisecond, layout: chain(8), subject: coldStart(), target: 20 },
  { name: '1 ms provider, first session of a mount, depth 3', tree: oneMillisecond, layout: chain(3), subject: coldStart(1, 'each time') },
  { name: '1 ms provider, first session of a mount, depth 8', tree: oneMillisecond, layout: chain(8), subject: coldStart(1, 'each time') },
  { name: '1 ms provider, warm step, depth 3', tree: oneMillisecond, layout: chain(3), subject: warmStep() },
  { name: '1 ms provider, warm step, depth 8', tree: oneMillisecond, layout: chain(8), subject: warmStep(), target: 30 },
]

const memory: Case[] = [
  { name: 'in memory, warm step, depth 3', tree: inMemory, layout: chain(3), subject: warmStep(), target: 1 },
  { name: 'in memory, warm step, depth 8', tree: inMemory, layout: chain(8), subject: warmStep(), target: 1 },
  { name: 'in memory, cold baseline, depth 3', tree: inMemory, layout: chain(3), subject: coldStart(), target: 1 },
  { name: 'in memory, cold baseline, depth 8', tree: inMemory, layout: chain(8), subject: coldStart(), target: 1 },
]

const large: Case[] = [
  { name: 'local, four 1 MiB files, cold', tree: diskTree, layout: chain(3, MIB), subject: coldStart(), target: 4 },
  { name: 'local, four 1 MiB files, not ASCII, cold', tree: diskTree, layout: chain(3, MIB, NOT_ASCII), subject: coldStart(), target: 4 },
  { name: 'four 1 MiB files: longest time the main thread is blocked', tree: diskTree, layout: chain(3, MIB), subject: coldStart(), gauge: longestBlock },
  { name: 'four 1 MiB files: blocks over 1 ms, added up', tree: diskTree, layout: chain(3, MIB), subject: coldStart(), gauge: blocked },
  { name: 'four 1 MiB files: processor time of the main thread', tree: diskTree, layout: chain(3, MIB), subject: coldStart(), gauge: mainThread },
  { name: 'in memory, budget pressure, 200 candidates in one directory', tree: inMemory, layout: crowded(200), subject: coldStart() },
  { name: 'in memory, budget pressure, 50 directories of 4 files', tree: inMemory, layout: deep(50), subject: coldStart() },
  { name: 'local, budget pressure, 200 candidates in one directory', tree: diskTree, layout: crowded(200), subject: coldStart() },
  { name: 'local, budget pressure, 50 directories of 4 files', tree: diskTree, layout: deep(50), subject: coldStart() },
]

const past = (count: number) => warmStep(() => longPast(count))

const long: Case[] = [
  { name: 'local, warm step after no events', tree: diskTree, layout: chain(3), subject: past(0) },
  { name: 'local, warm step after 100,000 events', tree: diskTree, layout: chain(3), subject: past(100_000), target: 20 },
  { name: 'in memory, warm step after no events', tree: inMemory, layout: chain(3), subject: past(0) },
  { name: 'in memory, warm step after 100,000 events', tree: inMemory, layout: chain(3), subject: past(100_000), target: 20 },
  { name: 'in memory, an edit and a touch, the first', tree: inMemory, layout: nested(1), subject: editAndTouch() },
  { name: 'in memory, an edit and a touch, after 200 of them', tree: inMemory, layout: nested(1), subject: editAndTouch(200) },
]

/** Every case, in the order of the table. */
export const cases: readonly Case[] = [...local, ...distant, ...large, ...long, ...memory]
