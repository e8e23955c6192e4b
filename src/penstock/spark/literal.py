"""Names that hold a mark of patterns (`[1].json`) and mean themselves: what is there under a name as it stands is no pattern.

Spark asks of every path it is given whether it is a pattern by its letters alone, also of the files that its own log of a stream names; and
where a batch holds one that looks like a pattern, it reads all the others of the batch once more. Spark has no option for that, but one object
that answers the question: here it is replaced by one that looks first.
"""

from __future__ import annotations

from py4j.java_gateway import JavaGateway

_NAME = "org.apache.spark.deploy.LiteralNames"
_SOURCE = """
package org.apache.spark.deploy;
public class LiteralNames extends SparkHadoopUtil {
    public boolean isGlobPath(org.apache.hadoop.fs.Path path) {
        String scheme = path.toUri().getScheme();
        boolean isLocal = scheme == null || scheme.equals("file");
        return super.isGlobPath(path) && !(isLocal && new java.io.File(path.toUri().getPath()).exists());
    }
}
"""


def take_literally(gateway: JavaGateway) -> None:
    """Let this JVM take local names for what they are; Spark brings the compiler along, for its own queries."""
    jvm = gateway.jvm
    owner = getattr(getattr(jvm.org.apache.spark.deploy, "SparkHadoopUtil$"), "MODULE$")
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(owner.getClass().getClassLoader())
    compiler.cook(_SOURCE)
    made = compiler.getClassLoader().loadClass(_NAME).getDeclaredConstructor(gateway.new_array(jvm.java.lang.Class, 0))
    owner.get()  # it is made when it is first asked for, and would be made over this one
    held = owner.getClass().getDeclaredField("instance")
    held.setAccessible(True)
    held.set(owner, made.newInstance(gateway.new_array(jvm.java.lang.Object, 0)))
