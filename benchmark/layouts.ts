/**
 * What the trees hold. Every instruction file carries a line of its own, so that
 * a message can be checked for what it must say.
 */
import { join } from 'node:path'
import type { Tree } from './trees.ts'

/** A project laid out in a tree, and how it is looked at. */
export interface Layout {
  /** Working directory of the sessions. */
  readonly cwd: string
  /** Plugin options. */
  readonly config: object
  /** Lines that a complete baseline must contain. */
  readonly says: readonly string[]
  /** Files below `cwd` whose directories have instructions of their own. */
  readonly touchable: readonly string[]
}

/** Lays a project out in an empty tree. */
export type LayoutFactory = (tree: Tree) => Layout

const SMALL_FILE = 800

/**
 * Fill a file with prose.
 * @param line - the line that tells this file from all others.
 * @param bytes - size of the file.
 * @param filler - what the rest consists of.
 * @returns exactly `bytes` bytes of UTF-8.
 */
export function prose(line: string, bytes: number, filler = 'Prefer small functions. Test what you change.\n'): string {
  const head = `${line}\n`
  const room = bytes - Buffer.byteLength(head)
  const body = filler.repeat(Math.floor(room / Buffer.byteLength(filler)))
  return head + body + '.'.repeat(room - Buffer.byteLength(body))
}

/** What every layout starts with: a harness home with a user-global file, and a project root. */
function foundation(tree: Tree): { project: string, config: { dshHome: string, maxBytes: number }, says: string[] } {
  const dshHome = join(tree.root, 'home', '.dsh')
  const project = join(tree.root, 'project')
  tree.write(join(dshHome, 'AGENTS.md'), prose('rule: global', SMALL_FILE))
  tree.directory(join(project, '.git'))
  return { project, config: { dshHome, maxBytes: 65_536 }, says: ['rule: global'] }
}

/**
 * A chain of directories with an AGENTS.md in each, the working directory at its end.
 * @param depth - directories between the project root and the working directory, that one included.
 * @param bytes - size of each file.
 * @param filler - what the files consist of.
 */
export function chain(depth: number, bytes = SMALL_FILE, filler?: string): LayoutFactory {
  return tree => {
    const { project, config, says } = foundation(tree)
    let cwd = project
    for (let level = 0; level <= depth; level++) {
      if (level > 0) cwd = join(cwd, `level-${level}`)
      tree.write(join(cwd, 'AGENTS.md'), prose(`rule: level ${level}`, bytes, filler))
      says.push(`rule: level ${level}`)
    }
    // Where not even one file fits, the most specific one is cut and the others are left out.
    return { cwd, config, says: bytes < config.maxBytes ? says : says.slice(-1), touchable: [] }
  }
}

/**
 * A working directory with directories below it that a session has not been in yet.
 * @param count - how many directories, each with an AGENTS.md.
 */
export function nested(count: number): LayoutFactory {
  return tree => {
    const { project, config, says } = foundation(tree)
    tree.write(join(project, 'AGENTS.md'), prose('rule: project', SMALL_FILE))
    const touchable: string[] = []
    for (let index = 0; index < count; index++) {
      const directory = join(project, 'packages', `package-${index}`)
      tree.write(join(directory, 'AGENTS.md'), prose(`rule: package ${index}`, SMALL_FILE))
      touchable.push(join(directory, 'index.ts'))
    }
    return { cwd: project, config, says: [...says, 'rule: project'], touchable }
  }
}

/**
 * One directory with many candidates: more text than a message may hold.
 * @param count - how many candidate files.
 */
export function crowded(count: number): LayoutFactory {
  return tree => {
    const { project, config } = foundation(tree)
    const names = Array.from({ length: count }, (_, index) => `RULES-${index}.md`)
    for (const name of names) tree.write(join(project, name), prose(`rule: ${name}`, 1024))
    return {
      cwd: project,
      config: { ...config, instructionFileCandidates: names, localInstructionFileCandidates: [] },
      says: [`rule: ${names.at(-1)}`],
      touchable: [],
    }
  }
}

/**
 * A deep chain with every default candidate in each directory: more text than a message may hold.
 * @param directories - how many directories; four files in each.
 */
export function deep(directories: number): LayoutFactory {
  return tree => {
    const { project, config } = foundation(tree)
    let cwd = project
    for (let level = 0; level < directories; level++) {
      if (level > 0) cwd = join(cwd, `${level}`)
      for (const name of ['AGENTS.md', 'CLAUDE.md', 'AGENTS.local.md', 'CLAUDE.local.md']) {
        tree.write(join(cwd, name), prose(`rule: ${level} ${name}`, 1024))
      }
    }
    return { cwd, config, says: [`rule: ${directories - 1} CLAUDE.local.md`], touchable: [] }
  }
}
