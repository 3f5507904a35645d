"""Renders base and overlays as kustomize would and validates every object strictly. Called by deploy/k8s/check.

Of kustomize it knows what the overlays here use: resources, namespace, images and JSON 6902 patches; anything else is refused, so
that nothing goes unseen.
"""
import pathlib, sys
import jsonpatch, kubernetes_validate, yaml

HERE = pathlib.Path(__file__).parent
VERSION = "1.31"
KNOWN = {"apiVersion", "kind", "resources", "namespace", "images", "patches"}
# These have no namespace.
GLOBAL = {"Namespace"}


def render(directory):
    plan = yaml.safe_load((directory / "kustomization.yaml").read_text())
    unknown = set(plan) - KNOWN
    if unknown:
        sys.exit(f"{directory}: this check does not know {', '.join(sorted(unknown))}")
    objects = []
    for resource in plan["resources"]:
        path = directory / resource
        objects += render(path) if path.is_dir() else [o for o in yaml.safe_load_all(path.read_text()) if o]
    for patch in plan.get("patches", []):
        target = patch["target"]
        hit = [i for i, o in enumerate(objects) if o["kind"] == target["kind"] and o["metadata"]["name"] == target["name"]]
        if len(hit) != 1:
            sys.exit(f"{directory}: a patch meets {len(hit)} objects: {target}")
        objects[hit[0]] = jsonpatch.apply_patch(objects[hit[0]], yaml.safe_load(patch["patch"]))
    for image in plan.get("images", []):
        for container in containers(objects):
            if container["image"].split(":")[0] == image["name"]:
                container["image"] = f"{image['newName']}:{image['newTag']}"
    for o in objects:
        if "namespace" in plan and o["kind"] not in GLOBAL:
            o["metadata"]["namespace"] = plan["namespace"]
    return objects


def containers(objects):
    for o in objects:
        yield from o.get("spec", {}).get("template", {}).get("spec", {}).get("containers", [])


def consistent(directory, objects):
    """What no schema can see: parts that must agree with one another."""
    by = {(o["kind"], o["metadata"]["name"]): o for o in objects}
    job, workers = by["ConfigMap", "ddiht-job"], by["Job", "ddiht-workers"]["spec"]
    if not int(job["data"]["WORKERS"]) == workers["completions"] == workers["parallelism"]:
        sys.exit(f"{directory}: WORKERS, completions and parallelism differ")
    server = by["StatefulSet", "ddiht-server"]["spec"]
    if server["template"]["metadata"]["labels"].items() < by["Service", "ddiht-server"]["spec"]["selector"].items():
        sys.exit(f"{directory}: the service does not find the server")
    images = {c["image"] for c in containers(objects)}
    if len(images) != 1:
        sys.exit(f"{directory}: server and workers have different images: {images}")


for directory in [HERE / "base", *sorted((HERE / "overlays").iterdir())]:
    objects = render(directory)
    consistent(directory, objects)
    for o in objects:
        try:
            kubernetes_validate.validate(o, VERSION, strict=True)
        except kubernetes_validate.ValidationError as e:
            sys.exit(f"{directory}: {o['kind']} {o['metadata']['name']}: {'.'.join(map(str, e.path))}: {e.message}")
    print(f"{directory.relative_to(HERE)}: {len(objects)} objects valid for Kubernetes {VERSION}")
